/**
 * How late the event loop is, over a minute, from what the clock's ticks recorded: no wake-up of its own. Read at scrape by app/metrics/metrics.ts,
 * which owns it.
 */

import type { RecordableHistogram } from 'node:perf_hooks';

const LOOP_WINDOW_MS = 60_000;
/** The quantiles that metrics have; 1 is the longest delay. */
export const QUANTILES = [0.5, 0.99, 0.999, 1] as const;

/** Event-loop delay over the last minute: the running minute once it is half over, else the one before. */
export class LoopDelay {
  readonly #lateMicros: RecordableHistogram;
  #previous: readonly number[] | null = null;
  #sinceMs = performance.now();

  constructor(lateMicros: RecordableHistogram) {
    this.#lateMicros = lateMicros;
  }

  /** Seconds for each of QUANTILES. */
  read(): readonly number[] {
    const isYoung = performance.now() - this.#sinceMs < LOOP_WINDOW_MS / 2;
    return this.#previous !== null && isYoung ? this.#previous : this.#now();
  }

  turn(): void {
    if (performance.now() - this.#sinceMs < LOOP_WINDOW_MS) return;
    this.#previous = this.#now();
    this.#lateMicros.reset();
    this.#sinceMs = performance.now();
  }

  #now(): readonly number[] {
    const late = this.#lateMicros;
    return QUANTILES.map((q) => (q === 1 ? late.max : late.percentile(q * 100)) / 1e6);
  }
}
