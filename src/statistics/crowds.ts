/**
 * The crowds of one dimension of a channel, by value. Strangers make up values (a Referer), so their number is bounded, and those with the most
 * listening are kept, not those that came first: in each minute `rows` values have a row of their own, and the others share one.
 * Invariant: beyond CANDIDATES × `rows` there are only values with a connection now, and an eighth more.
 */

import { Crowd, type CrowdFigures } from './crowd.js';
import { OTHER } from './figures.js';

/** How many values are counted apart while a period goes on, for each that is stored. */
export const CANDIDATES = 4;
/** Which part of the values makes room at a time. */
const TAKEN_PART = 8;

export class Crowds {
  readonly #byValue = new Map<string, Crowd>();
  /** Figures of this minute whose values made room for others. */
  #others: CrowdFigures | null = null;
  /** Below this size there was nothing to take out when that was looked for last. */
  #fullAt = 0;

  get size(): number {
    return this.#byValue.size;
  }

  of(value: string, rows: number, nowMs: number): Crowd {
    let crowd = this.#byValue.get(value);
    if (crowd !== undefined) return crowd;
    if (this.#byValue.size >= Math.max(rows * CANDIDATES, this.#fullAt)) this.#makeRoom(nowMs);
    this.#byValue.set(value, (crowd = new Crowd(nowMs)));
    return crowd;
  }

  /** The figures since the last call. Values without a connection are forgotten. @param mostPeak the peak of all values together */
  take(rows: number, mostPeak: number, nowMs: number): (readonly [value: string, figures: CrowdFigures])[] {
    const taken: [string, CrowdFigures][] = [];
    let others = this.#others;
    this.#others = null;
    this.#fullAt = 0;
    for (const [value, crowd] of this.#byValue) {
      taken.push([value, crowd.take(nowMs)]);
      if (crowd.count === 0) this.#byValue.delete(value);
    }
    // Stable: of equal ones the oldest comes first.
    taken.sort(([, a], [, b]) => b.listenedMs - a.listenedMs);
    for (const [, figures] of taken.slice(rows)) others = together(others, figures);
    const named = taken.slice(0, rows);
    if (others === null) return named;
    const known = named.find(([value]) => value === OTHER);
    const rest = named.filter((each) => each !== known);
    const all = together(known?.[1] ?? null, others);
    return [...rest, [OTHER, { ...all, peak: Math.min(all.peak, mostPeak) }]];
  }

  /**
   * Takes out the values with the least listening, of those without a connection: some at a time, since looking for them costs as much as for one.
   */
  #makeRoom(nowMs: number): void {
    const idle = [...this.#byValue].filter(([, { count }]) => count === 0);
    idle.sort(([, a], [, b]) => a.listenedMs - b.listenedMs);
    const part = Math.ceil(this.#byValue.size / TAKEN_PART);
    this.#fullAt = idle.length === 0 ? this.#byValue.size + part : 0;
    for (const [value, crowd] of idle.slice(0, part)) {
      this.#byValue.delete(value);
      this.#others = together(this.#others, crowd.take(nowMs));
    }
  }
}

/** Adds up two figures; the sum of their peaks is an upper limit. @param one is changed */
function together(one: CrowdFigures | null, other: CrowdFigures): CrowdFigures {
  if (one === null) return other;
  one.sketch.merge(other.sketch);
  return {
    begun: one.begun + other.begun,
    ended: one.ended + other.ended,
    endedMs: one.endedMs + other.endedMs,
    listenedMs: one.listenedMs + other.listenedMs,
    peak: one.peak + other.peak,
    sketch: one.sketch,
  };
}
