/**
 * Counts a frequent event per channel: all of them for metrics, with a log line at most once a minute per channel.
 * Owned by its user (titles/title-service.ts).
 */

import type { Clock } from './clock.js';

const LOG_EVERY_MS = 60_000;

export class ChannelCounter {
  /** Channel → number of events, and when it was last logged (monotonic ms). */
  readonly counts = new Map<string, { count: number; loggedMs: number }>();
  readonly #clock: Clock;
  readonly #onLog: (channel: string, count: number, detail: string) => void;

  /** @param onLog called with the count so far, and the detail of the last event */
  constructor(clock: Clock, onLog: (channel: string, count: number, detail: string) => void) {
    this.#clock = clock;
    this.#onLog = onLog;
  }

  count(channel: string, detail = ''): void {
    const nowMs = this.#clock.now();
    const row = this.counts.get(channel) ?? { count: 0, loggedMs: Number.NEGATIVE_INFINITY };
    this.counts.set(channel, row);
    row.count++;
    if (nowMs - row.loggedMs < LOG_EVERY_MS) return;
    row.loggedMs = nowMs;
    this.#onLog(channel, row.count, detail);
  }
}
