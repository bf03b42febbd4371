/** Segments that are cut here: a cutter, which begins with what the tape holds; the source is woken while anybody asks; a list ends after silence. */

import type { TapeObserver } from '../audio/playable-audio.js';
import type { AudioTape } from '../audio/tape/audio-tape.js';
import type { Clock } from '../base/clock.js';
import type { HlsOptions } from '../config/hls-config.js';
import { type CutterOptions, HlsCutter } from './cutter.js';
import type { HlsFeed, HlsSource } from './hls-feed.js';
import type { HlsWindow } from './window.js';

/** Of TARGETDURATION: a player asks for the playlist each target, and a source on demand runs for that time without one. */
const WANTED_TARGETS = 3;
/** Of a segment of the tape, with which the cutter reads. */
const TAPE_MS = 1500;
/** It is said so often to the source. */
const WANT_MS = 1000;
/** What is observed keeps its whole lag. */
const KEEPS_TAPE: TapeObserver = {
  isHeard: true,
  onGrown: () => undefined,
  onLate: () => undefined,
  onFence: () => undefined,
  onTape: () => undefined,
};

export interface CutFeedParts {
  readonly clock: Pick<Clock, 'now' | 'wallMs'>;
  /** As ChannelHlsParts have it. */
  readonly silenceMs: number;
  /** Names a tape in all processes that ever have it. */
  tapeName(tape: AudioTape): string;
}

export class CutFeed implements HlsFeed {
  readonly isWhole = true;
  readonly #source: HlsSource;
  readonly #window: HlsWindow;
  readonly #parts: CutFeedParts;
  readonly #cutter: HlsCutter;
  #options: CutterOptions;
  /** Monotonic milliseconds. */
  #askedMs = Number.NEGATIVE_INFINITY;
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
    const { audio } = this.#source;
    // Where listeners come and go meanwhile, it is said again.
    if (audio.listeners === 0 && (!this.#isWanted || nowMs - this.#askedMs > WANT_MS)) audio.want(true);
    this.#isWanted = true;
    this.#askedMs = nowMs;
  }

  tidy(nowMs: number): void {
    const window = this.#window;
    if (this.#lastNumber !== window.lastNumber) this.#grownMs = nowMs;
    this.#lastNumber = window.lastNumber;
    const targetMs = this.#options.segmentSeconds * 1000;
    // What was heard before a silence is nothing to begin with for those who come behind it.
    if (!window.isEmpty && nowMs - this.#grownMs > this.#parts.silenceMs + targetMs + TAPE_MS) this.#cutter.endList();
    if (this.#isWanted && nowMs - this.#askedMs > WANTED_TARGETS * targetMs) this.#unwant();
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
