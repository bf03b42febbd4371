/**
 * The time for removing old data: the wall clock, but after a jump ahead it advances at most twice as fast as the monotonic clock. So a wall clock
 * that is wrong for an hour ages data by at most one extra hour; if the jump was right, old data is removed a little later.
 */

import type { Clock } from './clock.js';

/** Data dated further ahead than this was made while the clock was ahead. */
export const FAR_AHEAD_MS = 3_600_000;
/** The start of 2025: a clock before it is not set yet, and its first plausible time is trusted at once. */
export const FIRST_PLAUSIBLE_MS = 1_735_689_600_000;

export class SteadyTime {
  readonly #clock: Pick<Clock, 'now' | 'wallMs'>;
  #atMs: number;
  /** The wall clock is trusted up to this time, unix milliseconds. */
  #limitMs: number;

  /** @param fromMs a time known to have passed, unix milliseconds; default: the present one by the wall clock */
  constructor(clock: Pick<Clock, 'now' | 'wallMs'>, fromMs = clock.wallMs()) {
    this.#clock = clock;
    this.#atMs = clock.now();
    this.#limitMs = fromMs;
  }

  /** The time, unix milliseconds. */
  ms(): number {
    return Math.min(this.#clock.wallMs(), this.#reach());
  }

  /** Whether the wall clock was set back by more than FAR_AHEAD_MS: then it is wrong, and data dated ahead of it may be right. */
  get isBehind(): boolean {
    return this.#reach() - this.#clock.wallMs() > FAR_AHEAD_MS;
  }

  #reach(): number {
    const nowMs = this.#clock.now();
    const passedMs = nowMs - this.#atMs;
    const reachedMs = this.#limitMs < FIRST_PLAUSIBLE_MS ? this.#clock.wallMs() : this.#limitMs + passedMs;
    this.#atMs = nowMs;
    this.#limitMs = Math.max(reachedMs, Math.min(this.#clock.wallMs(), reachedMs + passedMs));
    return this.#limitMs;
  }
}
