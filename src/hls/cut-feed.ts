/**
 * Feeds a window with segments that are cut here, beginning with what the tape holds. Keeps the source awake while clients ask, and ends the list
 * after a silence. Owned by ChannelHls.
 */

import { IDLE_OBSERVER, type TapeObserver } from '../audio/playable-audio.js';
import type { AudioTape } from '../audio/tape/audio-tape.js';
import type { Clock } from '../base/clock.js';
import type { HlsOptions } from '../config/hls-config.js';
import { type CutterOptions, HlsCutter } from './cutter.js';
import type { HlsFeed, HlsSource } from './hls-feed.js';
import type { HlsWindow } from './window.js';

/** How long a source on demand runs after the last request, in TARGETDURATIONs; a player asks for the playlist once in each. */
const WANTED_TARGETS = 3;
/** The longest segment of a tape: the cutter reads in such steps. */
const TAPE_MS = 1500;
/** How often the demand is repeated to the source. */
const WANT_MS = 1000;
const KEEPS_TAPE: TapeObserver = { ...IDLE_OBSERVER, isHeard: true };

export interface CutFeedParts {
  readonly clock: Pick<Clock, 'now' | 'wallMs'>;
  /** As in ChannelHlsParts. */
  readonly silenceMs: number;
  /** Returns the tape's name, the same in all processes. */
  tapeName(tape: AudioTape): string;
}

export class CutFeed implements HlsFeed {
  readonly isWhole = true;
  readonly #source: HlsSource;
  readonly #window: HlsWindow;
  readonly #parts: CutFeedParts;
  readonly #cutter: HlsCutter;
  #options: CutterOptions;
  /** When the playlist was last requested, monotonic milliseconds. */
  #askedMs = Number.NEGATIVE_INFINITY;
  /** When the source was last asked to run, monotonic milliseconds. */
  #saidMs = Number.NEGATIVE_INFINITY;
  /** Whether the stream had listeners a moment ago. */
  #hadListeners = false;
  #grownMs: number;
  #lastNumber: number | null = null;
  #isWanted = false;

  constructor(source: HlsSource, options: HlsOptions, window: HlsWindow, parts: CutFeedParts) {
    this.#source = source;
    this.#window = window;
    this.#parts = parts;
    this.#options = options;
    this.#grownMs = parts.clock.now();
    const { clock, tapeName } = parts;
    this.#cutter = new HlsCutter({ audio: source.audio, clock, window, tapeName }, options);
  }

  ask(nowMs: number): void {
    // Repeated, since the last listener to leave ends the demand.
    if (!this.#isWanted || nowMs - this.#saidMs > WANT_MS) this.#want(nowMs);
    this.#isWanted = true;
    this.#askedMs = nowMs;
  }

  #want(nowMs: number): void {
    this.#saidMs = nowMs;
    if (this.#source.audio.listeners === 0) this.#source.audio.want(true);
  }

  tidy(nowMs: number): void {
    const window = this.#window;
    if (this.#lastNumber !== window.lastNumber) this.#grownMs = nowMs;
    this.#lastNumber = window.lastNumber;
    const targetMs = this.#options.segmentSeconds * 1000;
    // Players that start after a silence must not begin with the audio before it.
    if (!window.isEmpty && nowMs - this.#grownMs > this.#parts.silenceMs + targetMs + TAPE_MS) this.#cutter.endList();
    const hasListeners = this.#source.audio.listeners > 0;
    if (this.#isWanted && nowMs - this.#askedMs > WANTED_TARGETS * targetMs) this.#unwant();
    else if (this.#isWanted && this.#hadListeners && !hasListeners) this.#want(nowMs);
    this.#hadListeners = hasListeners;
  }

  change(options: HlsOptions): void {
    const before = this.#options;
    this.#options = options;
    if (before.segmentSeconds !== options.segmentSeconds || before.form !== options.form) this.#cutter.change(options);
  }

  endList(): void {
    this.#cutter.endList();
  }

  whole(): null {
    return null;
  }

  stop(): void {
    this.#unwant();
    this.#cutter.stop();
  }

  hold(): void {
    this.#source.audio.observe(KEEPS_TAPE);
    this.#cutter.stop();
  }

  #unwant(): void {
    if (!this.#isWanted) return;
    this.#isWanted = false;
    if (this.#source.audio.listeners === 0) this.#source.audio.want(false);
  }
}
