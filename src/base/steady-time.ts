/**
 * What time it is for what throws away: the wall clock, but where that leaps ahead, no more than twice as fast as the monotonic one. A clock that is wrong for an
 * hour makes nothing older than an hour, and one that was right all along loses nothing: what is too old goes a little later.
 */

import type { Clock } from './clock.js';

/** What lies further ahead was made while the clock was ahead. */
export const FAR_AHEAD_MS = 3_600_000;
/** 2025: a clock that stands before it has not been set yet, and is believed once it is. */
export const FIRST_PLAUSIBLE_MS = 1_735_689_600_000;

export class SteadyTime {
  readonly #clock: Pick<Clock, 'now' | 'wallMs'>;
  #atMs: number;
  /** The wall clock counts up to here, unix milliseconds. */
  #limitMs: number;

  /** @param fromMs a moment that is known to have been, before this process; default: the wall clock is right now */
  constructor(clock: Pick<Clock, 'now' | 'wallMs'>, fromMs = clock.wallMs()) {
    this.#clock = clock;
    this.#atMs = clock.now();
    this.#limitMs = fromMs;
  }

  /** Unix milliseconds. */
  ms(): number {
    return Math.min(this.#clock.wallMs(), this.#reach());
  }

  /** The wall clock stands where it stood long ago: it is wrong now, and what lies ahead of it may be right. */
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
