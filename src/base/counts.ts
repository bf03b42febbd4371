/** What is counted where it happens, in plain fields; metrics look at it when they are scraped. Each has one writer. */

/** How often something happened, by a label out of a small, fixed set: never a listener's or an address. */
export class Counts {
  readonly rows = new Map<string, number>();

  add(label: string): void {
    this.rows.set(label, (this.rows.get(label) ?? 0) + 1);
  }
}

/** How long something took. */
export class Durations {
  /** Upper bounds, seconds, rising. */
  readonly bounds: readonly number[];
  /** How many were at most as long as each of the bounds, and longer than the one before it; the last: longer than all. */
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
