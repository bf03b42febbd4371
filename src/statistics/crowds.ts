/**
 * The crowds of one dimension of a channel, by value. Strangers make up values (a Referer), so their number is bounded, and those with the most listening are kept,
 * not those that came first: in each minute `rows` values have a row of their own, and the others share one.
 * Invariant: beyond CANDIDATES × `rows` there are only values with a connection now.
 */

import { Crowd, type CrowdFigures } from './crowd.js';
import { OTHER } from './figures.js';

/** How many values are counted apart while a period goes on, for each that is stored. */
export const CANDIDATES = 4;

export class Crowds {
  readonly #byValue = new Map<string, Crowd>();
  /** Figures of this minute whose values made room for others. */
  #others: CrowdFigures | null = null;

  get size(): number {
    return this.#byValue.size;
  }

  of(value: string, rows: number, nowMs: number): Crowd {
    let crowd = this.#byValue.get(value);
    if (crowd !== undefined) return crowd;
    if (this.#byValue.size >= rows * CANDIDATES) this.#makeRoom(nowMs);
    this.#byValue.set(value, (crowd = new Crowd(nowMs)));
    return crowd;
  }

  /** The figures since the last call. Values without a connection are forgotten. @param mostPeak the peak of all values together */
  take(rows: number, mostPeak: number, nowMs: number): (readonly [value: string, figures: CrowdFigures])[] {
    const taken: [string, CrowdFigures][] = [];
    let others = this.#others;
    this.#others = null;
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

  /** Takes out the value with the least listening, of those without a connection. */
  #makeRoom(nowMs: number): void {
    let least: readonly [string, Crowd] | null = null;
    for (const each of this.#byValue) {
      if (each[1].count === 0 && (least === null || each[1].listenedMs < least[1].listenedMs)) least = each;
    }
    if (least === null) return;
    this.#byValue.delete(least[0]);
    this.#others = together(this.#others, least[1].take(nowMs));
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
