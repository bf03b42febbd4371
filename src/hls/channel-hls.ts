/**
 * A channel's HLS: nothing until its playlist is asked for; then a window, and what brings segments to it; nothing again when nobody has asked for ten
 * minutes. Its numbers go on through all of that, and through restarts.
 *
 *   ask ──► files of the process before ──► feed: a cutter, or a link to where it is cut ──► window ──► playlists, segments
 *
 * Owned by HlsChannels.
 */

import type { PlayableAudio } from '../audio/playable-audio.js';
import type { Clock } from '../base/clock.js';
import type { HlsOptions } from '../config/hls-config.js';
import type { HlsFeed, HlsFeeds, HlsSource } from './hls-feed.js';
import type { HlsFiles, ReadWindow } from './hls-files.js';
import { INIT_NAME, SEGMENT_NAME } from './hls-schema.js';
import type { HlsFile } from './playlist.js';
import { HlsWindow } from './window.js';

/** Without a request for its playlist: after that a channel costs nothing. */
const UNASKED_MS = 600_000;
/** How long it is kept where only segments are asked for. */
const FOUND_MS = 30_000;
/** What is copied for a rewind is asked for so often. */
const FOLLOW_MS = 5000;
/** Of segments: further ahead of the last one no number is waited for. */
const MAX_AHEAD = 60;
/** Nobody cuts as many segments apart from the others. */
const MAX_RAISE = 1_000_000;

/** Where its segments come from; resting: nobody asks for them. */
export type HlsState = 'cut' | 'copied' | 'resting';

export interface ChannelHlsParts {
  readonly clock: Pick<Clock, 'now' | 'wallMs'>;
  readonly feeds: HlsFeeds;
  /** Absent: nothing survives this process. */
  readonly files?:
    | Pick<
        HlsFiles,
        'read' | 'lastRewound' | 'keep' | 'written' | 'leave' | 'tidy' | 'trim' | 'settled' | 'unwritten' | 'faults'
      >
    | undefined;
  /** For how long a list that does not grow is served. */
  readonly silenceMs: number;
}

export class ChannelHls {
  readonly window: HlsWindow;
  readonly #source: HlsSource;
  readonly #parts: ChannelHlsParts;
  #options: HlsOptions;
  #feed: HlsFeed | null = null;
  /** Of what the process before this one has left; null: it has not been looked for. */
  #restored: Promise<void> | null = null;
  #isRestoring = false;
  /** Another process goes on with it. */
  #isHeld = false;
  /** When its playlist was asked for last, and until when it is kept, monotonic milliseconds. */
  #askedMs = Number.NEGATIVE_INFINITY;
  #keptMs = Number.NEGATIVE_INFINITY;
  #followedMs = Number.NEGATIVE_INFINITY;

  constructor(source: HlsSource, options: HlsOptions, parts: ChannelHlsParts) {
    this.#source = source;
    this.#options = options;
    this.#parts = parts;
    this.window = new HlsWindow(options.segmentSeconds, options, parts.clock.wallMs());
  }

  get audio(): PlayableAudio {
    return this.#source.audio;
  }

  /** Its playlist is asked for: segments come until nobody asks any more. */
  ask(): void {
    const nowMs = this.#parts.clock.now();
    this.#askedMs = nowMs;
    this.#keptMs = nowMs + UNASKED_MS;
    if (this.#isHeld) return;
    if (this.#isRead) this.#begin().ask(nowMs);
    else void this.restored();
  }

  /** Resolves when what the process before this one has left is there. It is looked for once. */
  restored(): Promise<void> {
    return (this.#restored ??= this.#restore());
  }

  /**
   * A segment, or what some need, that the window does not have: it may be in a file, or where it is cut. Null: it is nowhere. It does not count as
   * asked: who has its name was given a playlist.
   */
  find(name: string): Promise<HlsFile | undefined> | null {
    const number = SEGMENT_NAME.exec(name)?.[1];
    if ((number === undefined && !INIT_NAME.test(name)) || this.#isHeld) return null;
    if (!this.#isRead) return this.restored().then(() => this.window.file(name) ?? this.find(name) ?? undefined);
    const last = this.window.last?.number;
    // Up to the last one a feed has brought all that there are.
    const isKnown = number !== undefined && this.#feed !== null && last !== undefined && isBehind(Number(number), last);
    return isKnown ? null : (this.follow()?.then(() => this.window.file(name)) ?? null);
  }

  /** Where it is cut elsewhere, because a client has asked there, it is copied for a while. Resolves when all is here that is there by now; null: it is. */
  follow(): Promise<void> | null {
    if (!this.#isRead) return this.restored().then(() => this.follow() ?? undefined);
    if (this.#isHeld || !this.#parts.feeds.isElsewhere(this.audio.key)) return null;
    this.#keepAWhile();
    return this.#begin().whole();
  }

  /** A segment that is unknown here and ahead of all was cut apart from this process: numbers go on above it, in another list. */
  goAbove(number: number, name: string): void {
    const { window } = this;
    if (this.#parts.feeds.isElsewhere(this.audio.key) || window.segment(name) !== undefined) return;
    const last = window.lastNumber ?? 0;
    if (number <= last || number > Math.max(last, this.#parts.clock.wallMs() / 1000) + MAX_RAISE) return;
    if (this.#feed === null) window.endList();
    else this.#feed.endList();
    window.raise(number);
  }

  /** Whether it is cut, or copied, for its rewind: whether anybody asks or not. */
  get isAlways(): boolean {
    return this.#parts.files !== undefined && this.#options.rewindHours > 0 && !this.#isHeld;
  }

  /** Whether its window may be listed: not while it is read from files, or copied for the first time. */
  get isWhole(): boolean {
    return this.#isRead && this.#feed?.isWhole !== false;
  }

  /** Resolves when it may be, or is being copied. */
  async comes(): Promise<void> {
    await (this.#isRead ? this.#feed?.whole() : this.restored());
  }

  /**
   * Resolves when no other segment can get a number that its window has now, whatever ends; null: none can, or it is not waited for. Who says what is
   * in the window waits for it.
   */
  written(): Promise<void> | null {
    return this.#parts.files?.written(this.audio.key) ?? null;
  }

  /** Once a second at least, while it is not at rest, or always. */
  tidy(nowMs: number): void {
    this.#feed?.tidy(nowMs);
    if (this.#isRestoring) return;
    if (this.isAlways) this.#goOn(nowMs);
    else if (nowMs > this.#keptMs) this.stop();
  }

  #goOn(nowMs: number): void {
    if (!this.#isRead) void this.restored();
    else if (!this.#parts.feeds.isElsewhere(this.audio.key)) this.#begin();
    // Where it is cut it may have begun since.
    else if (nowMs - this.#followedMs >= FOLLOW_MS) {
      this.#followedMs = nowMs;
      void this.follow();
    }
  }

  /** The configuration has changed. */
  refresh(): void {
    const options = this.#source.hls;
    if (options === null) {
      this.stop();
      return;
    }
    const before = this.#options;
    this.#options = options;
    this.window.change(options);
    if (this.#feed !== null) this.#feed.change(options);
    else if (before.segmentSeconds !== options.segmentSeconds) this.#retarget();
  }

  /** Its segments come from elsewhere from now on; they go on behind those that are there. */
  refeed(): void {
    if (this.#feed === null) return;
    this.#endFeed();
    this.#followedMs = Number.NEGATIVE_INFINITY;
    this.#askAgain();
  }

  /** Whether what the process before this one has left is being read. */
  get isRestoring(): boolean {
    return this.#isRestoring;
  }

  get state(): HlsState {
    if (this.#feed === null) return 'resting';
    return this.#parts.feeds.isElsewhere(this.audio.key) ? 'copied' : 'cut';
  }

  /** Whether nothing is cut or kept. */
  get isAtRest(): boolean {
    return this.#feed === null && !this.#isRestoring && this.window.last === undefined;
  }

  /** Nothing is cut or kept any more, until the playlist is asked for again. */
  stop(): void {
    this.#endFeed();
    this.window.clear();
  }

  /** Nothing is cut any more, and what is there is kept: another process goes on with it. */
  hold(): void {
    this.#isHeld = true;
    this.#feed?.hold();
    this.#feed = null;
  }

  #endFeed(): void {
    this.#feed?.stop();
    this.#feed = null;
  }

  get #isRead(): boolean {
    return this.#parts.files === undefined || (this.#restored !== null && !this.#isRestoring);
  }

  #begin(): HlsFeed {
    return (this.#feed ??= this.#parts.feeds.make(this.#source, this.#options, this.window));
  }

  #askAgain(): void {
    const nowMs = this.#parts.clock.now();
    const feed = this.#begin();
    if (nowMs - this.#askedMs <= UNASKED_MS) feed.ask(nowMs);
  }

  /** Who asks for a segment only is forgotten soon. */
  #keepAWhile(): void {
    this.#keptMs = Math.max(this.#keptMs, this.#parts.clock.now() + FOUND_MS);
  }

  async #restore(): Promise<void> {
    const { files, clock } = this.#parts;
    if (files === undefined) return;
    this.#isRestoring = true;
    const { key } = this.audio;
    const [kept, rewound] = await Promise.all([files.read(key), files.lastRewound(key)]);
    const isWanted = !this.#isHeld && this.#source.hls !== null;
    if (isWanted && rewound !== null) this.window.raise(rewound);
    if (isWanted && kept !== null) this.#fill(kept, clock.wallMs());
    this.#isRestoring = false;
    if (!isWanted) return;
    files.keep(key, this.window, () => {
      const { hls } = this.#source;
      return hls !== null && hls.rewindHours > 0 ? hls : null;
    });
    this.#keepAWhile();
    if (this.#askedMs > Number.NEGATIVE_INFINITY) this.#askAgain();
    // Who copies it hears that there is nothing.
    else if (this.window.last === undefined) this.window.clear();
  }

  /** A list that is as old as one that does not grow is over; what nobody can want any more is dropped. */
  #fill({ savedMs, lastNumber, list, titles, segments }: ReadWindow, wallMs: number): void {
    const { window } = this;
    const { keep, segmentSeconds } = this.#options;
    if (lastNumber !== null) window.raise(lastNumber);
    window.adopt(list);
    for (const title of titles) window.title(title);
    for (const segment of segments) window.restore(segment);
    const ageMs = wallMs - savedMs;
    const keepMs = keep * segmentSeconds * 1000;
    // Dates only go on: what a clock ahead has left would keep all that follows ahead.
    const isAhead = savedMs > wallMs + keepMs || window.endMs > wallMs + keepMs;
    if (ageMs > keepMs || isAhead) window.clear();
    else if (ageMs > this.#parts.silenceMs + segmentSeconds * 1000) window.endList();
    this.#retarget();
  }

  #retarget(): void {
    const { segmentSeconds } = this.#options;
    if (this.window.targetSeconds === segmentSeconds) return;
    this.window.endList();
    this.window.retarget(segmentSeconds);
  }
}

/** Of segments' numbers: it is there by now, or is not to be waited for. */
function isBehind(number: number, last: number): boolean {
  return number <= last || number > last + MAX_AHEAD;
}
