/**
 * The results of a scenario as plain data, to be printed, drawn, written as JSON, read and merged. Medians and ratios are computed for the output
 * only, so that a file has every round. Pure.
 */

import type { Machine } from './machine.js';

export const PLOTS = ['cost', 'latency', 'loop-delay'] as const;
export type PlotName = (typeof PLOTS)[number];

export interface Row {
  readonly name: string;
  readonly unit: string;
  readonly digits: number;
  /** Whether the table has the ratio of the first target to each other. */
  readonly isCompared: boolean;
  /** Its place in a plot, which has a line of this name for each target. */
  readonly plot?: { readonly name: PlotName; readonly line: string; readonly x: number | string };
  /** Target → value of each round. */
  readonly values: Readonly<Record<string, readonly number[]>>;
}

export interface Result {
  readonly scenario: string;
  readonly summary: string;
  /** In the order of the columns; ratios are relative to the first. */
  readonly targets: readonly string[];
  readonly rows: readonly Row[];
  /** Received bytes that were checked, each one or by structure. */
  readonly checkedBytes: number;
  /** Faults of received data, by which the benchmark has failed. */
  readonly faults: readonly string[];
  /** Facts for readers of the figures. */
  readonly notes: readonly string[];
  /** Why there are no figures. */
  readonly skipped?: string;
}

export interface Report {
  readonly date: string;
  readonly machine: Machine;
  readonly results: readonly Result[];
}

/** Collects a scenario's figures round by round. */
export class Figures {
  readonly faults: string[] = [];
  readonly notes: string[] = [];
  checkedBytes = 0;
  readonly #targets: string[] = [];
  readonly #rows = new Map<string, Row & { values: Record<string, number[]> }>();

  add(row: Omit<Row, 'values' | 'isCompared'> & { isCompared?: boolean }, target: string, value: number): void {
    if (!this.#targets.includes(target)) this.#targets.push(target);
    const known = this.#rows.get(keyOf(row)) ?? { isCompared: true, ...row, values: {} };
    this.#rows.set(keyOf(row), known);
    if (Number.isFinite(value)) (known.values[target] ??= []).push(value);
  }

  result(scenario: string, summary: string): Result {
    const { faults, notes, checkedBytes } = this;
    const rows = [...this.#rows.values()];
    return { scenario, summary, targets: this.#targets, rows, checkedBytes, faults: [...new Set(faults)], notes };
  }
}

/** Merges the rounds of several reports of the same scenarios. Throws a RangeError if the machines differ. */
export function merge(reports: readonly Report[]): Report {
  const [first, ...others] = reports;
  if (first === undefined) throw new RangeError('no report');
  for (const { machine } of others)
    for (const part of ['cpu', 'cores', 'kernel', 'commit'] as const)
      if (machine[part] !== first.machine[part])
        throw new RangeError(`reports differ in ${part}: ${machine[part]}, ${first.machine[part]}`);
  const results = new Map<string, Result>();
  for (const result of reports.flatMap((report) => report.results)) {
    const known = results.get(result.scenario);
    results.set(result.scenario, known === undefined ? result : joined(known, result));
  }
  const versions = Object.assign({}, ...reports.map(({ machine }) => machine.versions)) as Machine['versions'];
  return { date: first.date, machine: { ...first.machine, versions }, results: [...results.values()] };
}

function joined(one: Result, other: Result): Result {
  const rows = one.rows.map((row) => {
    const more = other.rows.find((each) => keyOf(each) === keyOf(row));
    if (more === undefined) return row;
    const targets = [...new Set([...Object.keys(row.values), ...Object.keys(more.values)])];
    const both = targets.map((key) => [key, [...(row.values[key] ?? []), ...(more.values[key] ?? [])]] as const);
    return { ...row, values: Object.fromEntries(both) };
  });
  const { skipped: _, ...measured } = one.skipped === undefined ? one : other;
  return {
    ...measured,
    targets: [...new Set([...one.targets, ...other.targets])],
    rows: [...rows, ...other.rows.filter((each) => !one.rows.some((row) => keyOf(row) === keyOf(each)))],
    checkedBytes: one.checkedBytes + other.checkedBytes,
    faults: [...new Set([...one.faults, ...other.faults])],
    notes: [...new Set([...one.notes, ...other.notes])],
    ...(one.skipped !== undefined && other.skipped !== undefined && { skipped: one.skipped }),
  };
}

/** Identifies a row. The same name may have several units, for several sizes. */
function keyOf({ name, unit }: Pick<Row, 'name' | 'unit'>): string {
  return `${name}, ${unit}`;
}
