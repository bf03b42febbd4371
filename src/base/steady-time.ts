/**
 * The time by which old things are removed: the wall clock, but where that jumps ahead, at most twice as fast as the monotonic clock. A wall clock
 * that is wrong for an hour makes nothing older by more than an hour; where it was right all along, what is too old is removed a little later.
 */

import type { Clock } from './clock.js';

/** What is dated further ahead than this was made while the clock was ahead. */
export const FAR_AHEAD_MS = 3_600_000;
/** The beginning of 2025: a clock before it is not set yet. Once it is set, the new time is believed at once. */
export const FIRST_PLAUSIBLE_MS = 1_735_689_600_000;

export class SteadyTime {
  readonly #clock: Pick<Clock, 'now' | 'wallMs'>;
  #atMs: number;
  /** The wall clock is believed up to this time, unix milliseconds. */
  #limitMs: number;

  /** @param fromMs the last moment that is known to have passed before this process began; default: the wall clock is right now */
  constructor(clock: Pick<Clock, 'now' | 'wallMs'>, fromMs = clock.wallMs()) {
    this.#clock = clock;
    this.#atMs = clock.now();
    this.#limitMs = fromMs;
  }

  /** Unix milliseconds. */
  ms(): number {
    return Math.min(this.#clock.wallMs(), this.#reach());
  }

  /** The wall clock was set back by more than FAR_AHEAD_MS: it is wrong now, and what is dated ahead of it may be right. */
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
