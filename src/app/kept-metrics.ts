/**
 * The metrics of the workers, as the hub last had them: what one that has ended had counted stays in the sums, or these would fall and be taken for a
 * restart of all. Rows of one process alone (label `process`) end with it, and so do gauges.
 */

import { MetricRegistry } from './registry.js';

/** What ended workers had counted is put together when there are more of them. */
const MOST_KEPT = 8;

export class KeptMetrics {
  /** By the number of the worker, as MetricRegistry#plain makes them. */
  readonly #last = new Map<number, unknown>();
  #ended: unknown[] = [];

  /** What a worker says when it ends. */
  keep(worker: number, metrics: unknown): void {
    this.#last.set(worker, metrics);
  }

  /** What is to be added up: of workers that answered all, of others what they had counted. @param answers by worker */
  async with(answers: ReadonlyMap<number, unknown>): Promise<unknown[]> {
    for (const [worker, metrics] of answers) this.#last.set(worker, metrics);
    const gone = [...this.#last].filter(([worker]) => !answers.has(worker));
    const counted = [...this.#ended, ...gone.map(([, metrics]) => MetricRegistry.countersOf(metrics))];
    if (gone.length > MOST_KEPT) {
      for (const [worker] of gone) this.#last.delete(worker);
      this.#ended = [await MetricRegistry.added(counted)];
    }
    return [...answers.values(), ...counted];
  }
}
