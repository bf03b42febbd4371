/**
 * The time that all nodes have in common: that of Redis, or of the origin. It is asked for now and then, and carried on by the monotonic clock: no wall clock of a
 * node counts, nor does it matter when one is set. Each answer says between which two moments that time is; what is known moves no further than it must.
 *
 *   asked ──► its time ──► came          its time is ahead of ours by at least time − came, at most time − asked
 *
 * Until the first answer it is this machine's own time, less how far that was off when this node was here last.
 */

import type { Clock } from '../base/clock.js';

/** What two machines' crystals and a busy machine make of it between two answers. */
const TOLERATED_MS = 2;

export class ClusterTime {
  readonly #clock: Pick<Clock, 'now' | 'wallMs' | 'follow' | 'skewMs'>;
  /** Whether it went by what was known before, to begin with. */
  readonly isAssumed: boolean;
  #aheadMs = Number.NaN;
  /** It is another one than before: so much ahead of `clock.now()`. */
  onMoved: (aheadMs: number) => void = () => undefined;

  /** @param skewMs how far this machine's clock was ahead when that was known last */
  constructor(clock: Pick<Clock, 'now' | 'wallMs' | 'follow' | 'skewMs'>, skewMs: number) {
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

  /** An answer. @param timeMs of that clock, in whole milliseconds or finer @param askedMs when it was asked, monotonic @param cameMs when it came */
  learn(timeMs: number, askedMs: number, cameMs: number): void {
    const [low, high] = [timeMs - cameMs, timeMs + 1 - askedMs];
    if (this.#aheadMs >= low - TOLERATED_MS && this.#aheadMs <= high + TOLERATED_MS) return;
    this.#aheadMs = this.isKnown ? Math.min(Math.max(this.#aheadMs, low), high) : (low + high) / 2;
    this.#clock.follow(this.#aheadMs);
    this.onMoved(this.#aheadMs);
  }
}
