/**
 * Counts an event per channel that may happen many times: every one for metrics, and a log line at most once a minute and channel.
 * Owned by its user (titles/title-service.ts).
 */

import type { Clock } from './clock.js';

const LOG_EVERY_MS = 60_000;

export class ChannelCounter {
  /** Channel → number of events, and when that was last logged (monotonic milliseconds). */
  readonly counts = new Map<string, { count: number; loggedMs: number }>();
  readonly #clock: Clock;
  readonly #onLog: (channel: string, count: number, detail: string) => void;

  /** @param onLog called with the count so far, and the detail of the last one */
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
