/**
 * The registry of metrics, by prom-client: counters, gauges and histograms whose values lie in plain fields elsewhere and are read when they
 * are scraped. Nothing on a hot path knows of metrics.
 */

import { Counter, Gauge, type Histogram, Registry } from 'prom-client';
import type { Counts, Durations } from '../base/counts.js';

export type Labels = Readonly<Record<string, string | number>>;

/** Sets one row. */
export type SetRow = (labels: Labels, value: number) => void;

export class MetricRegistry {
  readonly #registry = new Registry();

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics as Prometheus reads them. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Rows that are not set at a scrape are not there. */
  gauge(name: string, help: string, labelNames: string[], read: (set: SetRow) => void): void {
    const gauge: Gauge = new Gauge({
      ...{ name, help, labelNames },
      registers: [this.#registry],
      collect: () => {
        gauge.reset();
        read((labels, value) => gauge.set(labels, value));
      },
    });
  }

  counter(name: string, help: string, labelNames: string[], read: (set: SetRow) => void): void {
    const counter: Counter = new Counter({
      ...{ name, help, labelNames },
      registers: [this.#registry],
      collect: () => {
        counter.reset();
        read((labels, value) => counter.inc(labels, value));
      },
    });
  }

  counts(name: string, help: string, label: string, counts: Counts): void {
    this.counter(name, help, [label], (set) => {
      for (const [value, count] of counts.rows) set({ [label]: value }, count);
    });
  }

  /** prom-client's own histogram would have to be called for each value. */
  durations(name: string, help: string, durations: Durations): void {
    const get = async () => {
      let count = 0;
      const values = durations.counts.map((inBucket, i) => {
        count += inBucket;
        return { metricName: `${name}_bucket`, labels: { le: durations.bounds[i] ?? '+Inf' }, value: count };
      });
      const [sum, total] = [durations.sumSeconds, count];
      const plain = [
        { metricName: `${name}_sum`, labels: {}, value: sum },
        { metricName: `${name}_count`, labels: {}, value: total },
      ];
      return { name, help, type: 'histogram', values: [...values, ...plain] };
    };
    this.#registry.registerMetric({ name, get } as unknown as Histogram);
  }
}
