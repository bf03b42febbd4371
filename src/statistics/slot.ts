/**
 * One period of one scope at the hub, with the figures of all processes, by dimension and value. It is stored each minute until it ends, and
 * read again after a restart.
 *
 *   total │ country: DE … │ player: VLC … │ page: example.org …       each: connections, times, peak, listeners
 *
 * The peak of a minute is the sum of the processes' peaks; that of a longer period the largest of its minutes.
 * Invariant: at most `rows` values of a dimension are stored, those with the most listening, and the others as one. During the period
 * CANDIDATES × `rows` values are counted by Space-Saving (Metwally, Agrawal, El Abbadi, 2005): a new value replaces the one of lowest rank and
 * inherits that rank. So a value with more than 1 / (CANDIDATES × `rows`) of the listening is always among them, however many others come.
 */

import { CANDIDATES } from './crowds.js';
import { DIMENSIONS, type Dimension, type FigureRow, OTHER, type StoredFigures } from './figures.js';
import { Sketch } from './sketch.js';

class SlotValue {
  begun = 0;
  ended = 0;
  endedMs = 0;
  listenedMs = 0;
  /** The rank of the value that it replaced, added to its own. */
  inheritedMs = 0;
  /** The peak from the store, or of a past minute. */
  #peak = 0;
  /** The number of listeners, if their sketch is gone. */
  #unique = 0;
  sketch = new Sketch();
  readonly #peaks = new Map<number, number>();

  get peak(): number {
    let sum = 0;
    for (const peak of this.#peaks.values()) sum += peak;
    return Math.max(this.#peak, sum);
  }

  get rankMs(): number {
    return this.listenedMs + this.inheritedMs;
  }

  get stored(): StoredFigures {
    const { begun, ended, endedMs, listenedMs, peak, sketch } = this;
    return [begun, ended, endedMs, listenedMs, peak, this.#unique + sketch.count];
  }

  add([, , , begun, ended, endedMs, listenedMs, peak]: FigureRow, process: number, sketch: Sketch | null): void {
    this.begun += begun;
    this.ended += ended;
    this.endedMs += endedMs;
    this.listenedMs += listenedMs;
    this.#peaks.set(process, Math.max(peak, this.#peaks.get(process) ?? 0));
    if (sketch !== null) this.sketch.merge(sketch);
  }

  raise(peak: number): void {
    this.#peak = Math.max(this.#peak, peak);
    this.#peaks.clear();
  }

  /** Takes stored figures; the listeners are those of the sketch, if there is one. */
  restore([begun, ended, endedMs, listenedMs, peak, unique]: StoredFigures, sketch: string | undefined): void {
    Object.assign(this, { begun, ended, endedMs, listenedMs });
    this.#peak = peak;
    if (sketch === undefined) this.#unique = unique;
    else this.sketch = Sketch.of(sketch);
  }

  /** Adds the other's figures; the sum of the peaks is an upper bound. */
  merge(other: SlotValue): void {
    this.begun += other.begun;
    this.ended += other.ended;
    this.endedMs += other.endedMs;
    this.listenedMs += other.listenedMs;
    this.#peak = this.peak + other.peak;
    this.#peaks.clear();
    this.#unique += other.#unique;
    this.sketch.merge(other.sketch);
  }
}

/** Sketches as texts, by dimension and value. */
export type StoredSketches = Readonly<Record<string, Readonly<Record<string, string>>>>;

export class Slot {
  readonly scope: string;
  readonly atMs: number;
  isDirty = false;
  readonly #total = new SlotValue();
  readonly #dimensions: Readonly<Record<Dimension, Map<string, SlotValue>>> = {
    country: new Map(),
    player: new Map(),
    page: new Map(),
  };

  constructor(scope: string, atMs: number) {
    this.scope = scope;
    this.atMs = atMs;
  }

  /**
   * @param process that counted it @param sketch null: its salt is not this period's @param rows values of a dimension that are stored
   * @returns the value's peak
   */
  add(row: FigureRow, process: number, sketch: Sketch | null, rows: number): number {
    this.isDirty = true;
    const value = this.#valueOf(row[1], row[2], rows);
    value.add(row, process, sketch);
    return value.peak;
  }

  /** Sets the peak of a minute, after `add`. */
  raise([, dimension, value]: FigureRow, peak: number, rows: number): void {
    this.#valueOf(dimension, value, rows).raise(peak);
  }

  get total(): StoredFigures {
    return this.#total.stored;
  }

  /** @param rows maximum number, besides one for all others */
  stored(dimension: Dimension, rows: number): Record<string, StoredFigures> {
    return Object.fromEntries(this.#largest(dimension, rows).map(([name, value]) => [name, value.stored]));
  }

  sketches(rows: number): StoredSketches {
    const all: Record<string, Record<string, string>> = { total: { '': this.#total.sketch.text } };
    for (const dimension of DIMENSIONS) {
      const most = this.#largest(dimension, rows);
      all[dimension] = Object.fromEntries(most.map(([name, { sketch }]) => [name, sketch.text]));
    }
    return all;
  }

  restoreTotal(stored: StoredFigures, sketches: StoredSketches): void {
    this.#total.restore(stored, sketches['total']?.['']);
  }

  restore(dimension: Dimension, stored: Readonly<Record<string, StoredFigures>>, sketches: StoredSketches): void {
    for (const [name, figures] of Object.entries(stored)) {
      const value = new SlotValue();
      value.restore(figures, sketches[dimension]?.[name]);
      this.#dimensions[dimension].set(name, value);
    }
  }

  #valueOf(dimension: FigureRow[1], name: string, rows: number): SlotValue {
    if (dimension === 'total') return this.#total;
    const values = this.#dimensions[dimension];
    let value = values.get(name);
    if (value !== undefined) return value;
    value = new SlotValue();
    if (name !== OTHER && values.size >= rows * CANDIDATES) value.inheritedMs = this.#makeRoom(values);
    values.set(name, value);
    return value;
  }

  /** Merges the value of lowest rank into OTHER. @returns its rank */
  #makeRoom(values: Map<string, SlotValue>): number {
    let least: readonly [string, SlotValue] | null = null;
    for (const each of values) {
      if (each[0] !== OTHER && (least === null || each[1].rankMs < least[1].rankMs)) least = each;
    }
    if (least === null) return 0;
    values.delete(least[0]);
    let other = values.get(OTHER);
    if (other === undefined) values.set(OTHER, (other = new SlotValue()));
    other.merge(least[1]);
    return least[1].rankMs;
  }

  #largest(dimension: Dimension, rows: number): (readonly [string, SlotValue])[] {
    const values = [...this.#dimensions[dimension]];
    const named = values.filter(([name]) => name !== OTHER).sort(([, a], [, b]) => b.listenedMs - a.listenedMs);
    const others = values.filter(([name]) => name === OTHER).concat(named.slice(rows));
    if (others.length === 0) return named;
    const other = new SlotValue();
    for (const [, value] of others) other.merge(value);
    return [...named.slice(0, rows), [OTHER, other]];
  }
}
