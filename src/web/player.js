// @ts-check
/**
 * One channel's audio element and the titles of the very stream that it plays.
 *
 *   /metadata/listener/{metaid} ─ title, position ─► held ─ currentTime reaches position ─► heard
 *
 * The server sends a title when a player in real time would reach it. A browser starts later than that, and may stand still; only
 * the audio element knows what sounds. So the page holds each title until `currentTime` is at its `position`.
 * Each play has a stream and a metaid of its own, and a pause ends the download: live radio cannot wait.
 */

import { address, Link, waitMs } from './link.js';

/** @typedef {import('./link.js').Title} Title */
/** @typedef {'stopped' | 'connecting' | 'untitled' | 'hearing' | 'retrying' | 'gone'} Play */

/** How often a stream that broke off is asked for again before the listener has to do it. */
const MOST_TRIES = 5;

export class Player {
  static #all = /** @type {Player[]} */ ([]);

  #audio;
  #mount;
  #onPlay;
  #metaid = '';
  #feed = /** @type {Link | null} */ (null);
  /** Received, not audible yet; in order of position. */
  #coming = /** @type {Title[]} */ ([]);
  #heard = /** @type {Title | null} */ (null);
  /** Of the next try; 0: none is due. */
  #timer = 0;
  #tries = 0;

  /**
   * @param {HTMLAudioElement} audio
   * @param {string} mount the path it plays
   * @param {(play: Play, heard: Title | null) => void} onPlay a title comes with 'hearing', null with the others
   */
  constructor(audio, mount, onPlay) {
    this.#audio = audio;
    this.#mount = mount;
    this.#onPlay = onPlay;
    audio.onplay = () => this.#start();
    // The end of a stream pauses too.
    audio.onpause = () => this.#stop(audio.ended);
    audio.onerror = () => this.#stop(true);
    audio.ontimeupdate = () => this.#listen();
    Player.#all.push(this);
    this.#arm();
    onPlay('stopped', null);
  }

  static get anyPlays() {
    return Player.#all.some((player) => player.#feed !== null);
  }

  /** Ready to be played with a metaid of 128 random bits; nothing is loaded before. */
  #arm() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    this.#metaid = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    const url = address(this.#mount);
    url.searchParams.set('metaid', this.#metaid);
    this.#audio.src = url.href;
  }

  #start() {
    this.#cancelTry();
    for (const other of Player.#all) if (other !== this && other.#isBusy) other.#stop(false);
    this.#feed?.close();
    this.#coming = [];
    this.#feed = new Link(`metadata/listener/${this.#metaid}`, (title) => {
      if (title.type !== 'now') return;
      this.#coming.push(title);
      this.#listen();
    });
    this.#onPlay('connecting', null);
  }

  get #isBusy() {
    return this.#feed !== null || this.#timer !== 0;
  }

  #cancelTry() {
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  /** @param {boolean} broken not by the listener's wish */
  #stop(broken) {
    this.#cancelTry();
    // Another address ends the download. No `load()`: after one, Firefox loads the next address at once, a listener that hears nothing.
    this.#arm();
    this.#feed?.close();
    this.#feed = null;
    this.#heard = null;
    const retry = broken && this.#tries < MOST_TRIES;
    if (retry) this.#timer = setTimeout(() => this.#again(), waitMs(this.#tries++));
    else this.#tries = 0;
    this.#onPlay(retry ? 'retrying' : broken ? 'gone' : 'stopped', null);
  }

  /** A browser may not let a page begin to play by itself; then it is the listener's turn. */
  #again() {
    this.#timer = 0;
    this.#audio.play().catch((error) => {
      if (error.name === 'NotAllowedError') this.#onPlay('gone', null);
    });
  }

  /** Reports what has become audible. */
  #listen() {
    const { currentTime } = this.#audio;
    if (this.#feed === null || currentTime === 0) return;
    this.#tries = 0;
    let heard = this.#heard;
    while (this.#coming[0] && Number(this.#coming[0].position) <= currentTime * 1000) {
      heard = /** @type {Title} */ (this.#coming.shift());
    }
    if (heard === null) this.#onPlay('untitled', null);
    else if (heard !== this.#heard) this.#onPlay('hearing', (this.#heard = heard));
  }
}
