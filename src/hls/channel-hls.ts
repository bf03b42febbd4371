/**
 * A channel's HLS: nothing until its playlist is asked for; then a cutter and a window, which begins with what the tape holds; nothing again when
 * nobody has asked for ten minutes. Its numbers go on through all of that.
 *
 * Owned by HlsChannels.
 */

import type { PlayableAudio } from '../audio/playable-audio.js';
import type { Clock } from '../base/clock.js';
import type { HlsOptions } from '../config/hls-config.js';
import { HlsCutter } from './cutter.js';
import { HlsWindow } from './window.js';

/** Without a request for its playlist: after that a channel costs nothing. */
const UNASKED_MS = 600_000;
/** Of TARGETDURATION: a player asks for the playlist each target, and a source on demand runs for that time without one. */
const WANTED_TARGETS = 3;
/** Of a segment of the tape, with which the cutter reads. */
const TAPE_MS = 1500;
/** It is said so often to the source. */
const WANT_MS = 1000;

export interface HlsTiming {
  readonly clock: Pick<Clock, 'now' | 'wallMs'>;
  /** For how long a list that does not grow is served. */
  readonly silenceMs: number;
}

/** A channel as it is served; one mount of it or another. */
export interface HlsSource {
  readonly audio: PlayableAudio;
  /** Null: it has no HLS. */
  readonly hls: HlsOptions | null;
}

export class ChannelHls {
  readonly window: HlsWindow;
  readonly #source: HlsSource;
  readonly #timing: HlsTiming;
  #options: HlsOptions;
  #cutter: HlsCutter | null = null;
  /** Monotonic milliseconds. */
  #askedMs = Number.NEGATIVE_INFINITY;
  #grownMs = Number.NEGATIVE_INFINITY;
  #lastNumber: number | null = null;
  #isWanted = false;

  constructor(source: HlsSource, options: HlsOptions, timing: HlsTiming) {
    this.#source = source;
    this.#options = options;
    this.#timing = timing;
    this.window = new HlsWindow(options.segmentSeconds, options, timing.clock.wallMs());
  }

  get audio(): PlayableAudio {
    return this.#source.audio;
  }

  /** Its playlist is asked for: segments come until nobody asks any more. */
  ask(): void {
    const nowMs = this.#timing.clock.now();
    const { audio } = this;
    // Where listeners come and go meanwhile, it is said again.
    if (audio.listeners === 0 && (!this.#isWanted || nowMs - this.#askedMs > WANT_MS)) audio.want(true);
    this.#isWanted = true;
    this.#askedMs = nowMs;
    if (this.#cutter !== null) return;
    this.#grownMs = nowMs;
    this.#cutter = new HlsCutter(
      { audio, clock: this.#timing.clock, window: this.window },
      this.#options.segmentSeconds,
    );
  }

  /** Once a second at least, while it is not at rest. */
  tidy(nowMs: number): void {
    const { window } = this;
    if (this.#lastNumber !== window.lastNumber) this.#grownMs = nowMs;
    this.#lastNumber = window.lastNumber;
    const targetMs = this.#options.segmentSeconds * 1000;
    // What was heard before a silence is nothing to begin with for those who come behind it.
    if (!window.isEmpty && nowMs - this.#grownMs > this.#timing.silenceMs + targetMs + TAPE_MS) this.#cutter?.endList();
    if (this.#isWanted && nowMs - this.#askedMs > WANTED_TARGETS * targetMs) this.#unwant();
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
    if (before.segmentSeconds !== options.segmentSeconds) this.#changeTarget(options.segmentSeconds);
  }

  /** Whether nothing is cut or kept. */
  get isAtRest(): boolean {
    return this.#cutter === null;
  }

  /** Nothing is cut or kept any more, until the playlist is asked for again. */
  stop(): void {
    this.#unwant();
    this.#cutter?.stop();
    this.#cutter = null;
    this.window.clear();
  }

  #changeTarget(targetSeconds: number): void {
    if (this.#cutter === null) this.window.targetSeconds = targetSeconds;
    else this.#cutter.change(targetSeconds);
  }

  #unwant(): void {
    if (!this.#isWanted) return;
    this.#isWanted = false;
    if (this.audio.listeners === 0) this.audio.want(false);
  }
}
