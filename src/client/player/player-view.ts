/**
 * The visible player: its elements, made once, and what they show. Untrusted texts are set by `textContent` only. A cover may be at any host, chosen
 * by any holder of a push token: the server's own pages show it in a frame with a policy of its own (src/http/page/cover.ts).
 */

import type { ChannelRecord } from '../types.js';
import type { ListeningState } from './listening-state.js';
import { coverFrame, drawnCover, type IconName, icon } from './player-drawing.js';
import { filled, type PlayerTexts } from './player-texts.js';

export interface PlayerSnapshot {
  readonly state: ListeningState;
  readonly isOn: boolean;
  readonly name: string;
  /** The channel's logo; "": none. */
  readonly logo: string;
  readonly title: ChannelRecord | null;
  readonly next: ChannelRecord | null;
  readonly live: ChannelRecord | null;
  readonly isLive: boolean;
  /** Whether it plays the channel's rewind. */
  readonly isRewound: boolean;
  /** NaN: not known. */
  readonly liveSeconds: number;
  readonly lagSeconds: number;
  readonly elapsedSeconds: number;
}

export interface PlayerViewActions {
  readonly onPlay: () => void;
  readonly onStop: () => void;
  readonly onLive: () => void;
}

/** States without titles. */
const DEAD: readonly ListeningState[] = ['offAir', 'away', 'missing'];
const LIT: readonly ListeningState[] = ['ready', 'playing'];
/** The text of the status line. */
const STATUS: Readonly<Record<ListeningState, keyof PlayerTexts | ''>> = {
  loading: '',
  ready: 'onAir',
  connecting: 'connecting',
  playing: 'playing',
  stalled: 'waiting',
  retrying: 'retrying',
  failed: 'failed',
  offAir: 'offAir',
  full: 'full',
  members: 'members',
  codec: 'codec',
  away: 'away',
  missing: 'missing',
};
const VOLUME_KEY = 'airsplice-volume';

/** Sets a text only if it differs, as a screen reader reads out each change. */
export function say(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Formats seconds as `3:05`. */
export function clockOf(seconds: number): string {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className: string,
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  if (className !== '') element.className = className;
  element.append(...children);
  return element;
}

function button(className: string, ...icons: readonly IconName[]): HTMLButtonElement {
  const made = make('button', className, ...icons.map(icon));
  made.type = 'button';
  return made;
}

function makeElements() {
  return {
    status: make('span', 'status-text'),
    name: make('p', 'name'),
    song: make('p', 'song'),
    artist: make('p', 'artist'),
    progress: make('div', 'progress none'),
    elapsed: make('span', ''),
    length: make('span', ''),
    fill: make('div', 'fill'),
    cover: make('div', 'cover'),
    play: button('play', 'play', 'stop'),
    toLive: button('to-live none'),
    mute: button('mute', 'sound', 'silent'),
    slider: make('input', 'slider'),
    next: make('p', 'next none'),
    nextLabel: make('span', ''),
    nextTitle: make('bdi', ''),
    details: make('details', ''),
    summary: make('summary', ''),
    live: make('p', ''),
    behind: make('p', ''),
    whole: make('p', ''),
  };
}

export class PlayerView {
  readonly audio = make('audio', '');
  readonly root = make('div', 'player');
  readonly #parts = makeElements();
  #texts: PlayerTexts;
  #drawnFor = '';
  #logo = '';
  #coverUrl = '';

  constructor(texts: PlayerTexts, actions: PlayerViewActions) {
    this.#texts = texts;
    const status = make('p', 'status', make('span', 'dot'), this.#parts.status);
    status.setAttribute('role', 'status');
    for (const text of [this.#parts.name, this.#parts.song, this.#parts.artist, this.#parts.whole]) text.dir = 'auto';
    const heard = make('div', 'heard', this.#parts.song, this.#parts.artist);
    heard.setAttribute('aria-live', 'polite');
    heard.setAttribute('aria-atomic', 'true');
    const track = make('div', 'track', this.#parts.fill);
    track.setAttribute('aria-hidden', 'true');
    this.#parts.progress.append(track, make('div', 'times', this.#parts.elapsed, this.#parts.length));
    const volume = make('div', 'volume', this.#parts.mute, this.#parts.slider);
    const controls = make('div', 'controls', this.#parts.play, this.#parts.toLive, volume);
    const { next, nextLabel, nextTitle, details, summary, whole, live, behind } = this.#parts;
    next.append(nextLabel, ': ', nextTitle);
    details.append(summary, whole, live, behind);
    const info = make('div', 'info', status, this.#parts.name, heard, this.#parts.progress);
    this.root.append(this.#parts.cover, info, controls, this.#parts.next, this.#parts.details, this.audio);
    this.#parts.play.onclick = () => (this.root.classList.contains('on') ? actions.onStop() : actions.onPlay());
    this.#parts.toLive.onclick = () => {
      actions.onLive();
      // The button disappears, and with it the focus.
      this.#parts.play.focus();
    };
    this.#parts.mute.onclick = () => this.#setVolume(this.audio.volume, !this.audio.muted);
    Object.assign(this.#parts.slider, { type: 'range', min: '0', max: '1', step: '0.02' });
    this.#parts.slider.oninput = () => this.#setVolume(Number(this.#parts.slider.value), false);
    this.#restoreVolume();
    this.setTexts(texts);
  }

  get isOpen(): boolean {
    return this.#parts.details.open;
  }

  setTexts(texts: PlayerTexts): void {
    this.#texts = texts;
    this.root.dir = texts.dir;
    this.#parts.slider.setAttribute('aria-label', texts.volume);
    this.#showMuted();
    say(this.#parts.nextLabel, texts.next);
    say(this.#parts.toLive, texts.toLive);
    say(this.#parts.summary, texts.details);
  }

  show(snapshot: PlayerSnapshot): void {
    const { state, isOn, name, title } = snapshot;
    const texts = this.#texts;
    const isDead = DEAD.includes(state);
    const { classList } = this.root;
    classList.toggle('on', isOn);
    classList.toggle('dead', isDead);
    classList.toggle('lit', LIT.includes(state));
    const key = STATUS[state];
    say(this.#parts.status, key === '' ? '' : texts[key]);
    this.#parts.play.disabled = !isOn && (state === 'loading' || state === 'members' || state === 'missing');
    this.#parts.play.setAttribute('aria-label', `${isOn ? texts.stop : texts.play}: ${name}`);
    this.#parts.toLive.classList.toggle('none', !snapshot.isRewound);
    say(this.#parts.name, name);
    this.#showTitle(isDead ? null : title, snapshot);
    this.#showCover(isDead ? '' : (title?.cover ?? ''), title?.channelkey ?? name);
    const nextTitle = isDead ? '' : (snapshot.next?.title ?? '');
    say(this.#parts.nextTitle, nextTitle);
    this.#parts.next.classList.toggle('none', nextTitle === '');
    this.showTimes(snapshot);
  }

  /** Shows what changes each second. */
  showTimes({ state, title, live, isLive, liveSeconds, lagSeconds, elapsedSeconds }: PlayerSnapshot): void {
    const length = title?.durationSeconds ?? 0;
    const isKnown = length > 0 && !Number.isNaN(elapsedSeconds) && !DEAD.includes(state);
    this.#parts.progress.classList.toggle('none', !isKnown);
    if (isKnown) {
      say(this.#parts.elapsed, clockOf(elapsedSeconds));
      say(this.#parts.length, clockOf(length));
      this.#parts.fill.style.transform = `scaleX(${(elapsedSeconds / length).toFixed(4)})`;
    }
    if (!this.isOpen) return;
    const isHeard = state === 'playing' || state === 'stalled';
    const text = Number.isNaN(liveSeconds) ? this.#texts.live : this.#texts.liveSince;
    const values = { seconds: Math.round(liveSeconds), title: live?.title || this.#texts.noTitle };
    say(this.#parts.live, isLive || live === null ? '' : filled(text, values));
    const seconds = lagSeconds.toFixed(0);
    say(this.#parts.behind, isHeard && lagSeconds >= 1 ? filled(this.#texts.behind, { seconds }) : '');
    say(this.#parts.whole, title?.title ?? '');
  }

  #showTitle(title: ChannelRecord | null, { state, name }: PlayerSnapshot): void {
    const texts = this.#texts;
    const hint = (texts as Readonly<Record<string, string>>)[`${state}Hint`] ?? '';
    const isWhole = title !== null && title.artist !== '' && title.song !== '';
    const line = isWhole ? title.song : title?.title || '';
    say(this.#parts.song, line || name);
    this.#parts.name.classList.toggle('none', line === ''); // it is not there twice
    say(this.#parts.artist, hint || (isWhole ? title.artist : ''));
    this.#parts.artist.classList.toggle('hint', hint !== '');
  }

  /** @param logo a URL that this page may load; "": none */
  setLogo(logo: string, key: string): void {
    if (this.#logo === logo && this.#drawnFor === key) return;
    this.#logo = logo;
    this.#drawnFor = key;
    for (const old of this.#parts.cover.querySelectorAll('.drawn, .logo')) old.remove();
    const drawn = drawnCover(key);
    this.#parts.cover.prepend(drawn);
    if (logo === '') return;
    const image = make('img', 'logo');
    image.alt = '';
    image.src = logo;
    image.onload = () => drawn.remove(); // a logo may be transparent, at its corners or all over
    image.onerror = () => image.remove();
    drawn.after(image);
  }

  /** The root of the server whose frames show covers; null: covers are images of this page. */
  frameRoot: URL | null = null;

  /** Each cover gets a new frame: navigating one would add an entry to the browser's history. */
  #showCover(url: string, key: string): void {
    if (this.#drawnFor === '') this.setLogo('', key);
    if (url === this.#coverUrl) return;
    this.#coverUrl = url;
    this.#parts.cover.querySelector('.picture')?.remove();
    if (url !== '') this.#parts.cover.append(this.makeCover(url));
  }

  makeCover(url: string): HTMLElement {
    if (this.frameRoot === null) {
      const image = make('img', 'picture');
      image.alt = '';
      image.referrerPolicy = 'no-referrer';
      image.onerror = () => image.remove();
      image.src = url;
      return image;
    }
    const frame = coverFrame(this.frameRoot, url, this.#texts.cover);
    frame.className = 'picture';
    return frame;
  }

  #setVolume(volume: number, isMuted: boolean): void {
    this.audio.volume = volume;
    this.audio.muted = isMuted;
    this.#showMuted();
    try {
      localStorage.setItem(VOLUME_KEY, String(volume));
    } catch {
      // A page may have no storage.
    }
  }

  #showMuted(): void {
    const { muted, volume } = this.audio;
    this.root.classList.toggle('muted', muted || volume === 0);
    this.#parts.slider.value = String(muted ? 0 : volume);
    this.#parts.mute.setAttribute('aria-label', muted ? this.#texts.unmute : this.#texts.mute);
  }

  /** Where the volume belongs to the device (iOS) it stays 1, and the slider is hidden. */
  #restoreVolume(): void {
    let kept = Number.NaN;
    try {
      kept = Number.parseFloat(localStorage.getItem(VOLUME_KEY) ?? '');
    } catch {
      // As above.
    }
    this.audio.volume = 0.5;
    this.root.classList.toggle('fixed-volume', this.audio.volume !== 0.5);
    this.audio.volume = kept >= 0 && kept <= 1 ? kept : 1;
  }
}
