// @ts-check
/**
 * One channel on the page: the title on air and the next one, the player, the title that this listener hears, the addresses.
 * Whatever comes from outside is set by textContent; lines that will be filled keep their place while they are empty.
 */

import { follow } from '../client.js';
import { ChannelPlayer } from './player.js';

/** @typedef {import('../client/client.js').ChannelRecord} Title */
/** @typedef {import('../client/client.js').FollowState} FollowState */
/** @typedef {import('../client/client.js').PlayState} PlayState */
/** @typedef {{ station: string, key: string, name: string, description: string, mount: string, hls: string }} Channel */

/** What stands under "You hear" while no title does. */
const WORDS = /** @type {Record<Exclude<PlayState, 'paused'>, [text: string, hint: string]>} */ ({
  stopped: ['Not playing', 'Press play: each title stands here from the moment you hear it.'],
  connecting: ['Connecting …', ''],
  playing: ['No title yet', ''],
  stalled: ['Waiting for audio …', ''],
  retrying: ['No audio at the moment', 'Trying again …'],
  failed: ['No audio at the moment', 'Press play to try again.'],
});

/** Characters from which on a title line is set smaller. */
const LONG = 70;

/** Characters of a text that are compared. */
const COMPARED = 200;

/** From the page's own address: it may stand below a path of a proxy. @param {string} path */
export function address(path) {
  return new URL(path.replace(/^\//, ''), document.baseURI);
}

/** A copy of a template's only element. @param {string} id */
export function stamp(id) {
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById(id));
  return /** @type {HTMLElement} */ (/** @type {Element} */ (template.content.firstElementChild).cloneNode(true));
}

/** Sets a text where it differs: a screen reader reads changes, not repeats. @param {Element} element @param {string} text */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export class Card {
  static #all = /** @type {Card[]} */ ([]);

  element = stamp('channel');
  #name;
  #player;
  #coverUrl = '';
  #play = /** @type {keyof typeof WORDS} */ ('stopped');
  #air = /** @type {Title | null} */ (null);
  /** When the title on air came as news, on performance.now(); NaN: it was there before us. */
  #airMs = Number.NaN;
  /** How long after it had come on air it was heard; NaN where we have not seen both. */
  #lagSeconds = Number.NaN;
  /** No title has been heard yet in this play: it may have begun before. */
  #isFirst = true;

  /** @param {Channel} channel @param {(state: FollowState) => void} onState of the connection that brings what is on air */
  constructor(channel, onState) {
    const { key, description, mount, hls } = channel;
    this.#name = channel.name || key;
    Card.#all.push(this);
    say(this.#part('.name'), this.#name);
    say(this.#part('.description'), description);
    say(this.#part('.initial'), [...this.#name][0] ?? '');
    this.#part('.name').id = `name-${key}`;
    this.element.setAttribute('aria-labelledby', `name-${key}`);
    this.element.style.setProperty('--hue', String(hueOf(key)));
    this.#addAddress('Stream', address(mount));
    if (hls !== '') this.#addAddress('HLS', address(hls));
    this.#addAddress('JSON', address(`metadata/channel/${key}.json`));
    const socket = address(`metadata/channel/${key}`);
    socket.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    this.#addAddress('WebSocket', socket);
    const audio = /** @type {HTMLAudioElement} */ (this.#part('audio'));
    audio.setAttribute('aria-label', this.#name);
    this.#player = new ChannelPlayer(audio, channel, {
      onNow: (title) => this.#onHeard(title),
      // The browser would load covers by this page's policy, which allows none.
      mediaSession: 'titles',
      onState: (state) => this.#onPlay(/** @type {keyof typeof WORDS} */ (state)),
    });
    follow({
      channel: key,
      onNow: (title, isNews) => this.#onAir(title, isNews),
      onNext: (title) => this.#onNext(title),
      onState,
    });
    this.#showPlay();
  }

  /** @param {string} selector */
  #part(selector) {
    return /** @type {HTMLElement} */ (this.element.querySelector(selector));
  }

  /** @param {string} label @param {URL} url */
  #addAddress(label, url) {
    const row = stamp('address');
    const input = /** @type {HTMLInputElement} */ (row.querySelector('input'));
    const button = /** @type {HTMLButtonElement} */ (row.querySelector('button'));
    say(/** @type {Element} */ (row.querySelector('dt')), label);
    input.value = url.href;
    input.setAttribute('aria-label', `${label} address`);
    input.onfocus = () => input.select();
    button.onclick = () => copy(input, button);
    button.setAttribute('aria-label', `Copy ${label} address`);
    this.#part('dl').append(row);
  }

  /** @param {Title} title @param {boolean} isNews */
  #onAir(title, isNews) {
    if (!isSameTitle(this.#air, title)) this.#airMs = isNews ? performance.now() : Number.NaN;
    this.#air = title;
    const both = title.artist !== '' && title.song !== '';
    say(this.#part('.song'), (both ? title.song : title.title) || 'No title');
    say(this.#part('.artist'), both ? title.artist : '');
    this.#part('.titles').classList.toggle('long', title.title.length > LONG);
    this.#showCover(title.cover);
    if (this.#player.now !== null) this.#compare(this.#player.now);
  }

  /** @param {Title | null} title */
  #onNext(title) {
    say(this.#part('.next-title'), title?.title ?? '');
    this.#part('.next').classList.toggle('none', !title?.title);
  }

  /**
   * In a frame with a policy of its own, which allows images of the URL's origin (src/http/cover.ts). Each cover gets a new frame: a frame that goes
   * to another URL would add an entry to the browser's history.
   * @param {string} url
   */
  #showCover(url) {
    if (url === this.#coverUrl) return;
    this.#coverUrl = url;
    const before = this.#part('.cover');
    const cover = /** @type {HTMLIFrameElement} */ (before.cloneNode());
    cover.hidden = true;
    cover.removeAttribute('src');
    if (url !== '') {
      cover.onload = () => cover.removeAttribute('hidden');
      cover.src = address(`web/cover?url=${encodeURIComponent(url)}`).href;
    }
    before.replaceWith(cover);
  }

  get #isPlaying() {
    return this.#play === 'connecting' || this.#play === 'playing' || this.#play === 'stalled';
  }

  /** @param {keyof typeof WORDS} play */
  #onPlay(play) {
    this.#play = play;
    if (play === 'connecting') this.#isFirst = true;
    // One at a time.
    if (play === 'connecting') for (const card of Card.#all) if (card !== this) card.#player.stop();
    this.element.classList.toggle('playing', this.#isPlaying);
    // To a listener a screen reader reads the title that it hears, not what is on air everywhere.
    const live = Card.#all.some((card) => card.#isPlaying) ? 'off' : 'polite';
    for (const card of Card.#all) card.#part('.on-air').setAttribute('aria-live', live);
    const heard = this.#player.now;
    if (heard === null) this.#showPlay();
    else this.#compare(heard);
  }

  #showPlay() {
    this.#showHeard(...WORDS[this.#play]);
    document.title = document.getElementById('heading')?.textContent ?? '';
  }

  /** @param {Title} heard */
  #onHeard(heard) {
    const waited = isSameTitle(this.#air, heard) && (heard.positionMs === null ? !this.#isFirst : heard.positionMs > 0);
    this.#isFirst = false;
    this.#lagSeconds = waited ? Math.round((performance.now() - this.#airMs) / 1000) : Number.NaN;
    this.#compare(heard);
    if (heard.title !== '') document.title = `${heard.title} · ${this.#name}`;
  }

  /** Says how the title that is heard stands to the one on air. @param {Title} heard */
  #compare(heard) {
    const lag = this.#lagSeconds;
    let hint = 'The same as on air.';
    if (this.#play === 'stalled') [hint] = WORDS.stalled;
    else if (!isSameTitle(this.#air, heard)) hint = 'The title on air is on its way to you.';
    else if (lag > 0) hint = `It reached you ${lag} second${lag === 1 ? '' : 's'} after it came on air.`;
    this.#showHeard(heard.title || 'No title', hint);
  }

  /** @param {string} heard @param {string} hint */
  #showHeard(heard, hint) {
    say(this.#part('.heard'), heard);
    say(this.#part('.hint'), hint);
  }
}

/** A correction is another title. A playlist has no straight quotes, and of a long text its beginning. @param {Title | null} a @param {Title} b */
function isSameTitle(a, b) {
  const words = (/** @type {Title} */ { artist, song }) =>
    [artist, song].map((text) => text.replaceAll('"', '”').slice(0, COMPARED));
  return a !== null && a.id === b.id && words(a).join('\n') === words(b).join('\n');
}

/** A channel keeps its colour. @param {string} key @returns {number} degrees */
function hueOf(key) {
  let hash = 0;
  for (const char of key) hash = (hash * 31 + char.charCodeAt(0)) % 997;
  return (hash * 137) % 360;
}

/** @param {HTMLInputElement} input @param {HTMLButtonElement} button */
async function copy(input, button) {
  input.select();
  // The clipboard is for secure pages only; the old way serves the others.
  const written = navigator.clipboard?.writeText(input.value).then(
    () => true,
    () => false,
  );
  const copied = (await written) ?? document.execCommand('copy');
  button.textContent = copied ? 'Copied' : 'Selected';
  setTimeout(() => {
    button.textContent = 'Copy';
  }, 1500);
}
