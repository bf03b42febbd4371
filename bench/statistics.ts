/** Statistics for benchmarks. Pure. */

export interface Percentiles {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export interface Spread {
  readonly all: number;
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** By nearest rank; missing values are ignored; zeros without any value. */
export function percentiles(values: readonly (number | undefined)[]): Percentiles {
  const sorted = ascending(values);
  return {
    count: sorted.length,
    p50: at(sorted, 0.5),
    p90: at(sorted, 0.9),
    p99: at(sorted, 0.99),
    p999: at(sorted, 0.999),
    max: at(sorted, 1),
  };
}

export function spread(values: readonly number[]): Spread {
  const sorted = ascending(values);
  return { all: sum(sorted), min: at(sorted, 0), median: at(sorted, 0.5), max: at(sorted, 1) };
}

/** The middle value, or the mean of the two in the middle; NaN without values, so that a missing figure is visible. */
export function median(values: readonly number[]): number {
  const sorted = ascending(values);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

export function ascending(values: readonly (number | undefined)[]): number[] {
  return values.filter((value) => value !== undefined).sort((a, b) => a - b);
}

/** By nearest rank, from sorted values; 0 without values. */
export function at(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** Percentiles by name, for rows and the axis of a plot. */
export function shares(of: Omit<Percentiles, 'count'>): [share: string, value: number][] {
  return [
    ['50', of.p50],
    ['90', of.p90],
    ['99', of.p99],
    ['99.9', of.p999],
    ['100', of.max],
  ];
}
