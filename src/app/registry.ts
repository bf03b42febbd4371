/**
 * The registry of metrics, by prom-client: counters, gauges and histograms whose values lie in plain fields elsewhere and are read when they
 * are scraped. Nothing on a hot path knows of metrics.
 */

import {
  AggregatorRegistry,
  Counter,
  Gauge,
  type Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client';
import type { Counts, Durations } from '../base/counts.js';

export type Labels = Readonly<Record<string, string | number>>;

/** Sets one row. */
export type SetRow = (labels: Labels, value: number) => void;

/** Types of metrics that only rise. */
const COUNTING: readonly string[] = ['counter', 'histogram'];

export class MetricRegistry {
  readonly #registry = new Registry();

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics as Prometheus reads them. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** The same as plain data, for a process that adds up those of several. */
  plain(): Promise<unknown> {
    return this.#registry.getMetricsAsJSON();
  }

  /**
   * All metrics of several processes as Prometheus reads them: rows with the same labels are added up, of gauges for which that would be wrong the
   * largest counts. @param all as `plain` makes them
   */
  static sum(all: readonly unknown[]): Promise<string> {
    return AggregatorRegistry.aggregate(all as object[]).metrics();
  }

  /** The same, as `plain` would make them. */
  static async added(all: readonly unknown[]): Promise<unknown> {
    return AggregatorRegistry.aggregate(all as object[]).getMetricsAsJSON();
  }

  /** Of one process's metrics those that count, without rows that are of this process alone. @param metrics as `plain` makes them */
  static countersOf(metrics: unknown): unknown {
    return (metrics as MetricObjectWithValues<MetricValue<string>>[])
      .filter(({ type }) => COUNTING.includes(String(type)))
      .map((metric) => ({ ...metric, values: metric.values.filter(({ labels }) => !('process' in labels)) }));
  }

  /** Rows that are not set at a scrape are not there. @param among several processes that say it of all of them: `max` */
  gauge(
    name: string,
    help: string,
    labelNames: string[],
    read: (set: SetRow) => void,
    among: 'sum' | 'max' = 'sum',
  ): void {
    const gauge: Gauge = new Gauge({
      ...{ name, help, labelNames, aggregator: among },
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
      return { name, help, type: 'histogram', values: [...values, ...plain], aggregator: 'sum' };
    };
    this.#registry.registerMetric({ name, get } as unknown as Histogram);
  }
}
