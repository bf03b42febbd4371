/** Counters in plain fields, which metrics read when they are scraped. Each has one writer. */

/** All counts at 0, in the order of `labels`. */
export function zeroCounts<T extends string>(labels: readonly T[]): Record<T, number> {
  return Object.fromEntries(labels.map((label) => [label, 0])) as Record<T, number>;
}

/** Counts events by a label from a small, fixed set, never by listener or address. */
export class Counts {
  readonly rows = new Map<string, number>();

  add(label: string): void {
    this.rows.set(label, (this.rows.get(label) ?? 0) + 1);
  }
}

/** A histogram of durations. */
export class Durations {
  /** Upper bounds in seconds, ascending. */
  readonly bounds: readonly number[];
  /** Number of durations up to each bound and above the previous one; the last: above all bounds. */
  readonly counts: number[];
  sumSeconds = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  add(seconds: number): void {
    let i = 0;
    while (i < this.bounds.length && seconds > this.bounds[i]!) i++;
    this.counts[i]!++;
    this.sumSeconds += seconds;
  }
}
