/**
 * Something that may happen to a channel again and again: counted for metrics, told in the log at most once a minute for each channel,
 * so that somebody knows without a line for each. Owned by who counts (door.ts, title-rate.ts).
 */

import type { Clock } from './clock.js';

const TOLD_EVERY_MS = 60_000;

export class Tally {
  /** Channel → how often, and when that was last told (monotonic milliseconds). */
  readonly counts = new Map<string, { count: number; toldMs: number }>();
  readonly #clock: Clock;
  readonly #onTell: (channel: string, count: number) => void;

  /** @param onTell told the count so far */
  constructor(clock: Clock, onTell: (channel: string, count: number) => void) {
    this.#clock = clock;
    this.#onTell = onTell;
  }

  count(channel: string): void {
    const nowMs = this.#clock.now();
    const row = this.counts.get(channel) ?? { count: 0, toldMs: Number.NEGATIVE_INFINITY };
    this.counts.set(channel, row);
    row.count++;
    if (nowMs - row.toldMs < TOLD_EVERY_MS) return;
    row.toldMs = nowMs;
    this.#onTell(channel, row.count);
  }
}
