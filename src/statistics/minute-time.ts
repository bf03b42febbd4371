/**
 * The time by which figures are assigned to minutes: the wall clock, but after a jump of more than an hour it is believed only when it has kept the
 * new time for a while. Until then the monotonic clock carries the old time on, so that a clock that is wrong for a moment leaves no figures in the
 * future.
 */

import type { Clock } from '../base/clock.js';
import { FAR_AHEAD_MS, FIRST_PLAUSIBLE_MS } from '../base/steady-time.js';

/** How long the new time must last to be believed: a clock that was corrected keeps its time longer. */
export const BELIEVED_MS = 3_600_000;

export class MinuteTime {
  readonly #clock: Pick<Clock, 'now' | 'wallMs'>;
  /** How far the believed wall clock is ahead of the monotonic clock; null: not asked yet. */
  #aheadMs: number | null = null;
  /** Since when the wall clock has differed, monotonic milliseconds; null: it does not. */
  #sinceMs: number | null = null;

  constructor(clock: Pick<Clock, 'now' | 'wallMs'>) {
    this.#clock = clock;
  }

  /** Unix milliseconds. */
  ms(): number {
    const [nowMs, wallMs] = [this.#clock.now(), this.#clock.wallMs()];
    const believedMs = nowMs + (this.#aheadMs ?? Number.NEGATIVE_INFINITY);
    const isNear = Math.abs(wallMs - believedMs) <= FAR_AHEAD_MS || believedMs < FIRST_PLAUSIBLE_MS;
    this.#sinceMs = isNear ? null : (this.#sinceMs ?? nowMs);
    if (this.#sinceMs !== null && nowMs - this.#sinceMs < BELIEVED_MS) return believedMs;
    this.#sinceMs = null;
    this.#aheadMs = wallMs - nowMs;
    return wallMs;
  }
}
