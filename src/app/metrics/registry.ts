/**
 * The registry of metrics, by prom-client: counters, gauges and histograms whose values lie in plain fields elsewhere and are read when they
 * are scraped. Nothing on a hot path knows of metrics. Invariant: a scrape is one metric a turn of the event loop, since each may have a row for each
 * source of a thousand channels.
 */

import { setImmediate } from 'node:timers/promises';
import { AggregatorRegistry, type Gauge, type MetricObjectWithValues, type MetricValue, Registry } from 'prom-client';
import type { Counts, Durations } from '../../base/counts.js';

export type Labels = Readonly<Record<string, string | number>>;

/** As `plain` makes them. */
type PlainMetric = MetricObjectWithValues<MetricValue<string>>;

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
  async text(): Promise<string> {
    const parts: string[] = [];
    for (const { name } of this.#registry.getMetricsAsArray()) {
      parts.push(await this.#registry.getSingleMetricAsString(name));
      await setImmediate();
    }
    return document(parts);
  }

  /** The same as plain data, for a process that adds up those of several. */
  async plain(): Promise<unknown> {
    const all: unknown[] = [];
    for (const { name } of this.#registry.getMetricsAsArray()) {
      all.push(await this.#registry.getSingleMetric(name)!.get());
      await setImmediate();
    }
    return all;
  }

  /**
   * All metrics of several processes as Prometheus reads them: rows with the same labels are added up, of gauges for which that would be wrong the
   * largest counts. @param all as `plain` makes them
   */
  static async sum(all: readonly unknown[]): Promise<string> {
    const registry = new Registry();
    const parts: string[] = [];
    for (const metric of (await MetricRegistry.added(all)) as PlainMetric[]) {
      add(registry, metric.name, () => metric);
      parts.push(await registry.getSingleMetricAsString(metric.name));
      await setImmediate();
    }
    return document(parts);
  }

  /** The same, as `plain` would make them. */
  static async added(all: readonly unknown[]): Promise<unknown> {
    const sums: unknown[] = [];
    for (const same of byName(all as PlainMetric[][])) {
      // What one process alone says is as it is: most rows are of the hub.
      if (same.length === 1) sums.push(...same[0]!);
      else sums.push(...(await AggregatorRegistry.aggregate(same).getMetricsAsJSON()));
      await setImmediate();
    }
    return sums;
  }

  /** Of one process's metrics those that count, without rows that are of this process alone. @param metrics as `plain` makes them */
  static countersOf(metrics: unknown): unknown {
    return (metrics as PlainMetric[])
      .filter(({ type }) => COUNTING.includes(String(type)))
      .map((metric) => ({ ...metric, values: metric.values.filter(({ labels }) => !('process' in labels)) }));
  }

  /** Rows that are not set at a scrape are not there; each is set once. @param among several processes that say it of all of them: `max` */
  gauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: (set: SetRow) => void,
    among: 'sum' | 'max' = 'sum',
  ): void {
    this.#register(name, help, 'gauge', labelNames, read, among);
  }

  counter(name: string, help: string, labelNames: readonly string[], read: (set: SetRow) => void): void {
    this.#register(name, help, 'counter', labelNames, read, 'sum');
  }

  counts(name: string, help: string, label: string, counts: Counts): void {
    this.counter(name, help, [label], (set) => {
      for (const [value, count] of counts.rows) set({ [label]: value }, count);
    });
  }

  /** prom-client's own histogram would have to be called for each value. */
  durations(name: string, help: string, durations: Durations): void {
    add(this.#registry, name, () => {
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
    });
  }

  /** prom-client's own would keep each row by a key of its labels, ten times as dear as all else of a scrape. */
  #register(
    name: string,
    help: string,
    type: 'counter' | 'gauge',
    labelNames: readonly string[],
    read: (set: SetRow) => void,
    aggregator: 'sum' | 'max',
  ): void {
    add(this.#registry, name, () => {
      const values: { readonly labels: Labels; readonly value: number }[] = [];
      read((labels, value) => {
        for (const label in labels) if (!labelNames.includes(label)) throw new Error(`${name} has no label ${label}`);
        values.push({ labels, value });
      });
      return { name, help, type, values, aggregator };
    });
  }
}

/** A metric that is made whenever it is asked for: prom-client needs no more of one than its name and `get`. */
function add(registry: Registry, name: string, read: () => object): void {
  registry.registerMetric({ name, get: async () => read() } as unknown as Gauge);
}

/** Of each metric those of all processes, as the aggregator takes them: a list for each process. */
function byName(all: readonly PlainMetric[][]): Iterable<PlainMetric[][]> {
  const found = new Map<string, PlainMetric[][]>();
  for (const metric of all.flat()) {
    const same = found.get(metric.name) ?? [];
    found.set(metric.name, same);
    same.push([metric]);
  }
  return found.values();
}

/** @param parts the text of each metric, with or without a line's end */
function document(parts: readonly string[]): string {
  return `${parts.map((part) => part.trimEnd()).join('\n\n')}\n`;
}
