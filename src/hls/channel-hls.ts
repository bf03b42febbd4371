/**
 * A channel's HLS: nothing until its playlist is asked for; then a window, and what brings segments to it; nothing again when nobody has asked for ten
 * minutes. Its numbers go on through all of that.
 *
 *   ask ──► feed: a cutter, or a link to where it is cut ──► window ──► playlists, segments
 *
 * Owned by HlsChannels.
 */

import type { PlayableAudio } from '../audio/playable-audio.js';
import type { Clock } from '../base/clock.js';
import type { HlsOptions } from '../config/hls-config.js';
import type { HlsFeed, HlsFeeds, HlsSource } from './hls-feed.js';
import type { HlsSegment } from './playlist.js';
import { HlsWindow } from './window.js';

/** Without a request for its playlist: after that a channel costs nothing. */
const UNASKED_MS = 600_000;
/** Of segments: further ahead of the last one no number is waited for. */
const MAX_AHEAD = 60;
/** Nobody cuts as many segments apart from the others. */
const MAX_RAISE = 1_000_000;
/** For so long it is kept where only segments are asked for. */
const FOUND_MS = 30_000;
const NAME = /^(\d{1,15})-[0-9a-f]{16}\.[a-z0-9]{2,4}$/;

export class ChannelHls {
  readonly window: HlsWindow;
  readonly #source: HlsSource;
  readonly #clock: Pick<Clock, 'now' | 'wallMs'>;
  readonly #feeds: HlsFeeds;
  #options: HlsOptions;
  #feed: HlsFeed | null = null;
  /** Monotonic milliseconds. */
  #askedMs = Number.NEGATIVE_INFINITY;

  constructor(source: HlsSource, options: HlsOptions, clock: Pick<Clock, 'now' | 'wallMs'>, feeds: HlsFeeds) {
    this.#source = source;
    this.#options = options;
    this.#clock = clock;
    this.#feeds = feeds;
    this.window = new HlsWindow(options.segmentSeconds, options, clock.wallMs());
  }

  get audio(): PlayableAudio {
    return this.#source.audio;
  }

  /** Its playlist is asked for: segments come until nobody asks any more. */
  ask(): void {
    const nowMs = this.#clock.now();
    this.#begin(nowMs).ask(nowMs);
    this.#askedMs = nowMs;
  }

  /**
   * A segment that the window does not have: where it is cut it may be there. Null: it is nowhere. It does not count as asked: who has its name was
   * given a playlist.
   */
  find(name: string): Promise<HlsSegment | undefined> | null {
    const number = Number(NAME.exec(name)?.[1] ?? Number.NaN);
    const last = this.window.last?.number;
    // Up to the last one a feed has brought all that there are.
    const isKnown = this.#feed !== null && last !== undefined && (number <= last || number > last + MAX_AHEAD);
    if (Number.isNaN(number) || isKnown || !this.#feeds.isElsewhere(this.audio.key)) return null;
    const whole = this.#begin(this.#clock.now()).whole();
    return whole === null ? null : whole.then(() => this.window.segment(name));
  }

  /** Where this segment is unknown here, numbers go on above it, in another list: it was cut by another process, with which this one disagrees. */
  goAbove(number: number, name: string): void {
    const { window } = this;
    if (this.#feeds.isElsewhere(this.audio.key) || window.segment(name) !== undefined) return;
    const last = window.lastNumber ?? 0;
    if (number < last || number > Math.max(last, this.#clock.wallMs() / 1000) + MAX_RAISE) return;
    window.endList();
    window.raise(number);
  }

  /** Once a second at least, while it is not at rest. */
  tidy(nowMs: number): void {
    this.#feed?.tidy(nowMs);
    if (nowMs - this.#askedMs > UNASKED_MS) this.stop();
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
    else if (before.segmentSeconds !== options.segmentSeconds) this.window.retarget(options.segmentSeconds);
  }

  /** Its segments come from elsewhere from now on; they go on behind those that are there. */
  refeed(): void {
    if (this.#feed === null) return;
    this.#feed.stop();
    this.#feed = this.#feeds.make(this.#source, this.#options, this.window);
    const nowMs = this.#clock.now();
    this.#feed.ask(nowMs);
  }

  /** Whether nothing is cut or kept. */
  get isAtRest(): boolean {
    return this.#feed === null;
  }

  /** Nothing is cut or kept any more, until the playlist is asked for again. */
  stop(): void {
    this.hold();
    this.window.clear();
  }

  /** Nothing is cut any more, and what is there is kept: another process goes on with it. */
  hold(): void {
    this.#feed?.stop();
    this.#feed = null;
  }

  #begin(nowMs: number): HlsFeed {
    if (this.#feed !== null) return this.#feed;
    // Who asks for a segment only is forgotten as soon.
    this.#askedMs = Math.max(this.#askedMs, nowMs - UNASKED_MS + FOUND_MS);
    return (this.#feed = this.#feeds.make(this.#source, this.#options, this.window));
  }
}
