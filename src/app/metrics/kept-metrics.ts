/**
 * The metrics of the workers, as the hub last had them: what one that has ended had counted stays in the sums, or these would fall and be taken for a
 * restart of all. Rows of one process alone (label `process`) end with it, and so do gauges.
 */

import { MetricRegistry } from './registry.js';

/** What ended workers had counted is put together when there are more of them. */
const MAX_KEPT = 8;

export class KeptMetrics {
  /** By the number of the worker, as MetricRegistry#plain makes them. */
  readonly #last = new Map<number, unknown>();
  #ended: readonly unknown[] = [];

  /** What a worker says when it ends. */
  keep(worker: number, metrics: unknown): void {
    this.#last.set(worker, metrics);
  }

  /**
   * What is to be added up: of workers that answered all, of others what they had counted.
   * @param answers by worker @param linked workers that are there: one that has not answered in time may do so the next time
   */
  async with(answers: ReadonlyMap<number, unknown>, linked: ReadonlySet<number>): Promise<unknown[]> {
    for (const [worker, metrics] of answers) this.#last.set(worker, metrics);
    const silent = [...this.#last].filter(([worker]) => !answers.has(worker));
    const counted = [...this.#ended, ...silent.map(([, metrics]) => MetricRegistry.countersOf(metrics))];
    await this.#putTogether(silent.map(([worker]) => worker).filter((worker) => !linked.has(worker)));
    return [...answers.values(), ...counted];
  }

  /** What these workers, which have ended, had counted. */
  async #putTogether(ended: readonly number[]): Promise<void> {
    if (ended.length <= MAX_KEPT) return;
    const all = [...this.#ended, ...ended.map((worker) => MetricRegistry.countersOf(this.#last.get(worker)))];
    for (const worker of ended) this.#last.delete(worker);
    // A scrape that comes meanwhile adds them up by itself.
    this.#ended = all;
    const sum = await MetricRegistry.added(all);
    if (this.#ended === all) this.#ended = [sum];
  }
}
