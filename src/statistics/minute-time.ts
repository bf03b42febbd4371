/**
 * The time by which figures are assigned to minutes: the wall clock, except that after a jump of more than an hour the monotonic clock continues the
 * old time until the new one has lasted for a while, so that a clock that is wrong for a moment leaves no figures in the future.
 */

import type { Clock } from '../base/clock.js';
import { FAR_AHEAD_MS, FIRST_PLAUSIBLE_MS } from '../base/steady-time.js';

/** How long the new time must last to be believed. */
export const BELIEVE_AFTER_MS = 3_600_000;

export class MinuteTime {
  readonly #clock: Pick<Clock, 'now' | 'wallMs'>;
  /** The believed wall clock minus the monotonic clock; null: not read yet. */
  #aheadMs: number | null = null;
  /** When the wall clock began to differ, monotonic milliseconds; null: it does not. */
  #differsSinceMs: number | null = null;

  constructor(clock: Pick<Clock, 'now' | 'wallMs'>) {
    this.#clock = clock;
  }

  /** Unix milliseconds. */
  ms(): number {
    const [nowMs, wallMs] = [this.#clock.now(), this.#clock.wallMs()];
    const believedMs = nowMs + (this.#aheadMs ?? Number.NEGATIVE_INFINITY);
    const isNear = Math.abs(wallMs - believedMs) <= FAR_AHEAD_MS || believedMs < FIRST_PLAUSIBLE_MS;
    this.#differsSinceMs = isNear ? null : (this.#differsSinceMs ?? nowMs);
    if (this.#differsSinceMs !== null && nowMs - this.#differsSinceMs < BELIEVE_AFTER_MS) return believedMs;
    this.#differsSinceMs = null;
    this.#aheadMs = wallMs - nowMs;
    return wallMs;
  }
}
