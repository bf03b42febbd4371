/**
 * A channel's HLS. The first request for its playlist starts a window and a feed that brings segments to it; ten minutes after the last request both
 * are dropped. Segment numbers continue across all of that, and across restarts.
 *
 *   ask ──► files of the previous process ──► feed: a cutter, or a link to the process that cuts ──► window ──► playlists, segments
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

/** How long after the last request for its playlist a channel is kept. */
const UNASKED_MS = 600_000;
/** How long it is kept after a request for a segment only. */
const FOUND_MS = 30_000;
/** How often a copy for a rewind asks the process that cuts. */
const FOLLOW_MS = 5000;
/** A requested segment may be this far ahead of the last one; a higher number is not waited for. */
const MAX_AHEAD = 60;
/** The most by which numbers are raised: no process cuts as many segments apart from the others. */
const MAX_RAISE = 1_000_000;

/** Where its segments come from; `resting`: no client asks for them. */
export type HlsState = 'cut' | 'copied' | 'resting';

export interface ChannelHlsParts {
  readonly clock: Pick<Clock, 'now' | 'wallMs'>;
  readonly feeds: HlsFeeds;
  /** Absent: segments and numbers do not survive this process. */
  readonly files?:
    | Pick<
        HlsFiles,
        'read' | 'lastRewound' | 'keep' | 'written' | 'leave' | 'tidy' | 'trim' | 'settled' | 'unwritten' | 'faults'
      >
    | undefined;
  /** How long a list that does not grow is served, milliseconds. */
  readonly silenceMs: number;
}

export class ChannelHls {
  readonly window: HlsWindow;
  readonly #source: HlsSource;
  readonly #parts: ChannelHlsParts;
  #options: HlsOptions;
  #feed: HlsFeed | null = null;
  /** Resolves when the files of the previous process are read; null if that has not begun. */
  #restored: Promise<void> | null = null;
  #isRestoring = false;
  /** Whether another process continues. */
  #isHeld = false;
  /** When its playlist was last requested, monotonic milliseconds. */
  #askedMs = Number.NEGATIVE_INFINITY;
  /** Until when it is kept. */
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

  /** Called when its playlist is requested. Segments arrive until requests stop. */
  ask(): void {
    const nowMs = this.#parts.clock.now();
    this.#askedMs = nowMs;
    this.#keptMs = nowMs + UNASKED_MS;
    if (this.#isHeld) return;
    if (this.#isRead) this.#begin().ask(nowMs);
    else void this.restored();
  }

  /** Resolves when the files of the previous process are read, which happens once. */
  restored(): Promise<void> {
    return (this.#restored ??= this.#restore());
  }

  /**
   * Looks for a segment or initialization section that the window does not have: in files, and in the process that cuts. Null: it does not exist.
   * This does not count as a request for the playlist.
   */
  find(name: string): Promise<HlsFile | undefined> | null {
    const number = SEGMENT_NAME.exec(name)?.[1];
    if ((number === undefined && !INIT_NAME.test(name)) || this.#isHeld) return null;
    if (!this.#isRead) return this.restored().then(() => this.window.file(name) ?? this.find(name) ?? undefined);
    const last = this.window.last?.number;
    // The feed has brought all segments up to the last one.
    const isKnown = number !== undefined && this.#feed !== null && last !== undefined && isBehind(Number(number), last);
    return isKnown ? null : (this.follow()?.then(() => this.window.file(name)) ?? null);
  }

  /** Copies the window for a while if another process cuts. Resolves when all segments cut so far are here; null: no copy is needed, or possible. */
  follow(): Promise<void> | null {
    if (!this.#isRead) return this.restored().then(() => this.follow() ?? undefined);
    if (this.#isHeld || !this.#parts.feeds.isRemote(this.audio.key)) return null;
    this.#keepAWhile();
    return this.#begin().whole();
  }

  /** Called with an unknown segment ahead of all others, which another process has cut: continues above its number, in another list. */
  goAbove(number: number, name: string): void {
    const { window } = this;
    if (this.#parts.feeds.isRemote(this.audio.key) || window.segment(name) !== undefined) return;
    const last = window.lastNumber ?? 0;
    if (number <= last || number > Math.max(last, this.#parts.clock.wallMs() / 1000) + MAX_RAISE) return;
    if (this.#feed === null) window.endList();
    else this.#feed.endList();
    window.raise(number);
  }

  /** Whether its rewind needs it to be cut or copied, even without requests. */
  get isAlways(): boolean {
    return this.#parts.files !== undefined && this.#options.rewindHours > 0 && !this.#isHeld;
  }

  /** Whether its window may be listed: not while it is read from files or first copied. */
  get isWhole(): boolean {
    return this.#isRead && this.#feed?.isWhole !== false;
  }

  /** Resolves when the window is read from files or copied. */
  async comes(): Promise<void> {
    await (this.#isRead ? this.#feed?.whole() : this.restored());
  }

  /**
   * Resolves when the window's numbers are saved, so that no other segment ever gets one of them, whichever process ends; null: they are, or cannot
   * be. Await it before the window is published.
   */
  written(): Promise<void> | null {
    return this.#parts.files?.written(this.audio.key) ?? null;
  }

  /** Called once a second at least while it is not at rest or has a rewind. */
  tidy(nowMs: number): void {
    this.#feed?.tidy(nowMs);
    if (this.#isRestoring) return;
    if (this.isAlways) this.#cutOrFollow(nowMs);
    else if (nowMs > this.#keptMs) this.stop();
  }

  #cutOrFollow(nowMs: number): void {
    if (!this.#isRead) void this.restored();
    else if (!this.#parts.feeds.isRemote(this.audio.key)) this.#begin();
    // The other process may have begun to cut since.
    else if (nowMs - this.#followedMs >= FOLLOW_MS) {
      this.#followedMs = nowMs;
      void this.follow();
    }
  }

  /** Called when the configuration has changed. */
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

  /** Called when its segments come from elsewhere from now on; they follow the present ones. */
  refeed(): void {
    if (this.#feed === null) return;
    this.#endFeed();
    this.#followedMs = Number.NEGATIVE_INFINITY;
    this.#askAgain();
  }

  /** Whether the files of the previous process are being read. */
  get isRestoring(): boolean {
    return this.#isRestoring;
  }

  get state(): HlsState {
    if (this.#feed === null) return 'resting';
    return this.#parts.feeds.isRemote(this.audio.key) ? 'copied' : 'cut';
  }

  /** Whether nothing is cut or kept. */
  get isAtRest(): boolean {
    return this.#feed === null && !this.#isRestoring && this.window.last === undefined;
  }

  /** Drops everything until the playlist is requested again. */
  stop(): void {
    this.#endFeed();
    this.window.clear();
  }

  /** Cuts no more and keeps what is there, since another process continues. */
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

  /** Keeps it for a short time, as after a request for a segment only. */
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
    // Notifies those that copy it that the window is empty.
    else if (this.window.last === undefined) this.window.clear();
  }

  /** Fills the window from files. Ends the list if it has not grown for too long, and drops segments that no player can want any more. */
  #fill({ savedMs, lastNumber, list, titles, segments }: ReadWindow, wallMs: number): void {
    const { window } = this;
    const { keep, segmentSeconds } = this.#options;
    if (lastNumber !== null) window.raise(lastNumber);
    window.adopt(list);
    for (const title of titles) window.title(title);
    for (const segment of segments) window.restore(segment);
    const ageMs = wallMs - savedMs;
    const keepMs = keep * segmentSeconds * 1000;
    // Dates never go back, so those that a fast clock has left would keep all later ones ahead too.
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

/** Whether a segment of this number has been cut by now, or is too far ahead to wait for. */
function isBehind(number: number, last: number): boolean {
  return number <= last || number > last + MAX_AHEAD;
}
