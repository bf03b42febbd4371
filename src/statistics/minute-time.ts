/**
 * To which minute it belongs what is counted now: the wall clock's, but one that leaps by an hour or more is believed only once it has stood so for a while. Until then the
 * monotonic clock goes on from what it was: a clock that is wrong for one push leaves no figures in days to come.
 */

import type { Clock } from '../base/clock.js';
import { FAR_AHEAD_MS, FIRST_PLAUSIBLE_MS } from '../base/steady-time.js';

/** Who sets a clock right by as much has it so for longer. */
export const BELIEVED_MS = 3_600_000;

export class MinuteTime {
  readonly #clock: Pick<Clock, 'now' | 'wallMs'>;
  /** Of the wall clock before the monotonic one, as it is believed; null: nothing was asked yet. */
  #aheadMs: number | null = null;
  /** Since when it has been another one, monotonic milliseconds. */
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
