/**
 * The cluster time, which all nodes share: that of Redis, or of the origin. It is asked for periodically, and extrapolated by the monotonic clock,
 * so that a node's own wall clock does not matter, nor does setting it. Each answer bounds the difference from both sides; the known difference is
 * moved no further than into these bounds.
 *
 *   asked ──► its time ──► came          its time is ahead of `now()` by at least time − came, at most time − asked
 *
 * Until the first answer it is this machine's wall clock, corrected by the last known difference.
 */

import type { Clock } from '../base/clock.js';

/** Between two answers the difference may drift by this much, by the machines' crystals and on a busy machine. */
const TOLERATED_MS = 2;

export class ClusterTime {
  readonly #clock: Pick<Clock, 'now' | 'wallMs' | 'follow' | 'skewMs'>;
  /** Whether it started with a difference from an earlier run. */
  readonly isAssumed: boolean;
  #aheadMs = Number.NaN;
  readonly #onMoved: (aheadMs: number) => void;

  /** @param skewMs how far this machine's clock was last known to be ahead @param onMoved the difference to `clock.now()` has changed */
  constructor(
    clock: Pick<Clock, 'now' | 'wallMs' | 'follow' | 'skewMs'>,
    skewMs: number,
    onMoved: (aheadMs: number) => void = () => undefined,
  ) {
    this.#onMoved = onMoved;
    this.#clock = clock;
    this.isAssumed = skewMs !== 0;
    if (this.isAssumed) clock.follow(clock.wallMs() - skewMs - clock.now());
  }

  /** Whether there was an answer. */
  get isKnown(): boolean {
    return !Number.isNaN(this.#aheadMs);
  }

  /** Unix milliseconds. */
  ms(): number {
    return this.#clock.wallMs();
  }

  /** Monotonic milliseconds of this process. */
  now(): number {
    return this.#clock.now();
  }

  /** How far this machine's own clock is ahead, milliseconds. */
  get skewMs(): number {
    return this.#clock.skewMs;
  }

  /**
   * Takes an answer. @param timeMs of that clock, in whole milliseconds or finer @param askedMs when it was asked, monotonic @param cameMs when it
   * came
   */
  learn(timeMs: number, askedMs: number, cameMs: number): void {
    const [low, high] = [timeMs - cameMs, timeMs + 1 - askedMs];
    if (this.#aheadMs >= low - TOLERATED_MS && this.#aheadMs <= high + TOLERATED_MS) return;
    this.#aheadMs = this.isKnown ? Math.min(Math.max(this.#aheadMs, low), high) : (low + high) / 2;
    this.#clock.follow(this.#aheadMs);
    this.#onMoved(this.#aheadMs);
  }
}
