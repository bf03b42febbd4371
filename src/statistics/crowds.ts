/**
 * The crowds of one dimension of a channel, by value. Clients can make up values (a Referer), so their number is bounded: in each minute the `rows`
 * values with the most listening have a row of their own, and the others share one.
 * Invariant: beyond CANDIDATES × `rows` there are only values with a connection now, and an eighth more.
 */

import { Crowd, type CrowdFigures } from './crowd.js';
import { OTHER } from './figures.js';

/** How many values are counted separately during a period for each one that is stored. */
export const CANDIDATES = 4;
/** One in this many values is removed at a time. */
const REMOVED_FRACTION = 8;

export class Crowds {
  readonly #byValue = new Map<string, Crowd>();
  /** Figures of values that were removed in this minute. */
  #others: CrowdFigures | null = null;
  /** Removal found nothing below this size. */
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

  /** The figures since the last call; forgets values without a connection. @param maxPeak the peak of all values together */
  take(rows: number, maxPeak: number, nowMs: number): (readonly [value: string, figures: CrowdFigures])[] {
    const taken: [string, CrowdFigures][] = [];
    let others = this.#others;
    this.#others = null;
    this.#fullAt = 0;
    for (const [value, crowd] of this.#byValue) {
      taken.push([value, crowd.take(nowMs)]);
      if (crowd.count === 0) this.#byValue.delete(value);
    }
    // Stable: of equal values the oldest is first.
    taken.sort(([, a], [, b]) => b.listenedMs - a.listenedMs);
    for (const [, figures] of taken.slice(rows)) others = sumOf(others, figures);
    const named = taken.slice(0, rows);
    if (others === null) return named;
    const known = named.find(([value]) => value === OTHER);
    const rest = named.filter((each) => each !== known);
    const all = sumOf(known?.[1] ?? null, others);
    return [...rest, [OTHER, { ...all, peak: Math.min(all.peak, maxPeak) }]];
  }

  /** Removes values with the least listening among those without a connection, several at a time to spread the cost of the search. */
  #makeRoom(nowMs: number): void {
    const idle = [...this.#byValue].filter(([, { count }]) => count === 0);
    idle.sort(([, a], [, b]) => a.listenedMs - b.listenedMs);
    const part = Math.ceil(this.#byValue.size / REMOVED_FRACTION);
    this.#fullAt = idle.length === 0 ? this.#byValue.size + part : 0;
    for (const [value, crowd] of idle.slice(0, part)) {
      this.#byValue.delete(value);
      this.#others = sumOf(this.#others, crowd.take(nowMs));
    }
  }
}

/** Adds up two figures; the sum of their peaks is an upper bound. @param one is modified */
function sumOf(one: CrowdFigures | null, other: CrowdFigures): CrowdFigures {
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
