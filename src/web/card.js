// @ts-check
/**
 * One channel on the page: the title on air and the next one, the player, the title that this listener hears, the addresses.
 * Whatever comes from outside is set by textContent; lines that will be filled keep their place while they are empty.
 */

import { address, Link, socketAddress } from './link.js';
import { Player } from './player.js';

/** @typedef {import('./link.js').Title} Title */
/** @typedef {{ station: string, key: string, name: string, description: string, mount: string }} Channel */

/** What stands under "You hear" while no title does. */
const WORDS = {
  stopped: ['Not playing', 'Press play: each title stands here from the moment you hear it.'],
  connecting: ['Connecting …', ''],
  untitled: ['No title yet', ''],
  retrying: ['No audio at the moment', 'Trying again …'],
  gone: ['No audio at the moment', 'Press play to try again.'],
};

/** Characters from which on a title line is set smaller. */
const LONG = 70;

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
  #air = /** @type {Title | null} */ (null);
  /** When the title on air came as news, on performance.now(); NaN: it was there before us. */
  #airMs = Number.NaN;
  #next = /** @type {Title | null} */ (null);
  #nowsSinceNext = 0;
  /** Whether a connection that has just opened has sent a next: no message of one means that none is in force. */
  #nextCame = false;
  #heard = /** @type {Title | null} */ (null);
  /** How long after it had come on air it was heard; NaN where we have not seen both. */
  #lagSeconds = Number.NaN;

  /** @param {Channel} channel */
  constructor(channel) {
    const { key, description, mount } = channel;
    this.#name = channel.name || key;
    Card.#all.push(this);
    say(this.#part('.name'), this.#name);
    say(this.#part('.description'), description);
    say(this.#part('.initial'), [...this.#name][0] ?? '');
    this.#part('.name').id = `name-${key}`;
    this.element.setAttribute('aria-labelledby', `name-${key}`);
    this.element.style.setProperty('--hue', String(hueOf(key)));
    const cover = this.#cover;
    cover.onload = () => cover.removeAttribute('hidden');
    this.#addAddress('Stream', address(mount));
    this.#addAddress('JSON', address(`metadata/channel/${key}.json`));
    this.#addAddress('WebSocket', socketAddress(`metadata/channel/${key}`));
    const audio = /** @type {HTMLAudioElement} */ (this.#part('audio'));
    audio.setAttribute('aria-label', this.#name);
    new Player(audio, mount, (play, heard) => this.#onPlay(play, heard));
    new Link(`metadata/channel/${key}`, (title, first) => this.#onAir(title, first));
  }

  get #cover() {
    return /** @type {HTMLImageElement} */ (this.#part('.cover'));
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

  /** @param {Title} title @param {boolean} first */
  #onAir(title, first) {
    if (title.type === 'next') {
      this.#next = title;
      this.#nowsSinceNext = 0;
      this.#nextCame = first;
    } else if (title.type === 'now') {
      if (first && !this.#nextCame) this.#next = null;
      this.#nextCame = false;
      if (!first && title.id !== this.#air?.id) this.#nowsSinceNext++;
      // Its turn has come, or it was skipped (src/now-playing/README.md, "Next").
      if (this.#next !== null && (isSameTrack(this.#next, title) || this.#nowsSinceNext >= 2)) this.#next = null;
      if (!isSameTitle(this.#air, title)) this.#airMs = first ? Number.NaN : performance.now();
      this.#air = title;
      const both = title.artist !== '' && title.song !== '';
      say(this.#part('.song'), (both ? title.song : title.rawdata) || 'No title');
      say(this.#part('.artist'), both ? title.artist : '');
      this.#part('.titles').classList.toggle('long', title.rawdata.length > LONG);
      this.#showCover(title.cover);
      if (this.#heard !== null) this.#compare(this.#heard);
    }
    say(this.#part('.next-title'), this.#next?.rawdata ?? '');
    this.#part('.next').classList.toggle('none', !this.#next?.rawdata);
  }

  /** @param {string} url as pushed */
  #showCover(url) {
    const cover = this.#cover;
    if ((cover.getAttribute('src') ?? '') === url) return;
    cover.hidden = true;
    if (/^https?:\/\//i.test(url)) cover.src = url;
    else cover.removeAttribute('src');
  }

  /** @param {import('./player.js').Play} play @param {Title | null} heard */
  #onPlay(play, heard) {
    this.#heard = heard;
    this.element.classList.toggle('playing', play === 'connecting' || play === 'untitled' || play === 'hearing');
    // To a listener a screen reader reads the title that it hears, not what is on air everywhere.
    for (const card of Card.#all) card.#part('.on-air').setAttribute('aria-live', Player.anyPlays ? 'off' : 'polite');
    if (heard === null || play !== 'hearing') {
      const [text, hint] = WORDS[/** @type {keyof typeof WORDS} */ (play)];
      this.#showHeard(/** @type {string} */ (text), /** @type {string} */ (hint));
      this.#updateSystem(null);
      return;
    }
    const waited = isSameTitle(this.#air, heard) && Number(heard.position) > 0;
    this.#lagSeconds = waited ? Math.round((performance.now() - this.#airMs) / 1000) : Number.NaN;
    this.#compare(heard);
    this.#updateSystem(heard);
  }

  /** Says how the title that is heard stands to the one on air. @param {Title} heard */
  #compare(heard) {
    const lag = this.#lagSeconds;
    let hint = 'The same as on air.';
    if (!isSameTitle(this.#air, heard)) hint = 'The title on air is on its way to you.';
    else if (lag > 0) hint = `It reached you ${lag} second${lag === 1 ? '' : 's'} after it came on air.`;
    this.#showHeard(heard.rawdata || 'No title', hint);
  }

  /** @param {string} heard @param {string} hint */
  #showHeard(heard, hint) {
    say(this.#part('.heard'), heard);
    say(this.#part('.hint'), hint);
  }

  /** The lock screen and the tab show what is heard. @param {Title | null} heard */
  #updateSystem(heard) {
    const heading = document.getElementById('heading')?.textContent ?? '';
    document.title = heard?.rawdata ? `${heard.rawdata} · ${this.#name}` : heading;
    if (!('mediaSession' in navigator)) return;
    navigator.mediaSession.metadata =
      heard && new MediaMetadata({ title: heard.song || heard.rawdata, artist: heard.artist, album: this.#name });
  }
}

/** @param {Title} a @param {Title} b */
function isSameTrack(a, b) {
  return a.id === b.id || (a.artist === b.artist && a.song === b.song);
}

/** A correction is another title. @param {Title | null} a @param {Title} b */
function isSameTitle(a, b) {
  return a !== null && a.id === b.id && a.rawdata === b.rawdata;
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
