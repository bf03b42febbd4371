/**
 * Titles that came while the wall clock was ahead have entries in the future. When another title comes after the clock was corrected, they are moved
 * before it. The monotonic clock says how long ago the last of them came; their durations stay.
 *
 *   │ 1 │ 2 │                    │ 3 │ 4 │    5 comes ─►   │ 1 │ 2 │ 3 │ 4 │ 5
 *           ▲ 5 begins here
 */

import { FAR_AHEAD_MS, type SteadyTime } from '../base/steady-time.js';

/** When an entry began and ended; `toMs` null: it has not ended. */
interface Stretch {
  readonly fromMs: number;
  readonly toMs: number | null;
}

/** If more entries than this are in the future, they were not written by mistake, and stay. */
export const MAX_FROM_AHEAD = 1000;

/** For each channel: the title that began last, when that was noted (monotonic milliseconds), and a moment after which no entry begins. */
export class LastBegun {
  readonly #begun = new Map<string, { readonly fromMs: number; readonly atMs: number }>();
  /** No entry stored since the start of this process begins later; `isSearched`: nor does any earlier one. */
  readonly #latest = new Map<string, { readonly ms: number; readonly isSearched: boolean }>();

  /** No entry of the channel begins later than this. Infinity: the channel has not been searched. */
  latestMs(channel: string): number {
    const latest = this.#latest.get(channel);
    return latest?.isSearched === true ? latest.ms : Number.POSITIVE_INFINITY;
  }

  /** An entry is about to be stored. */
  include(channel: string, fromMs: number): void {
    const { ms = 0, isSearched = false } = this.#latest.get(channel) ?? {};
    if (fromMs > ms) this.#latest.set(channel, { ms: fromMs, isSearched });
  }

  /** The channel was searched. @param above all entries that begin after `fromMs`, oldest first */
  includeAll(channel: string, fromMs: number, above: readonly Stretch[]): void {
    if (above.length > MAX_FROM_AHEAD) return;
    const ms = Math.max(above.at(-1)?.fromMs ?? fromMs, fromMs, this.#latest.get(channel)?.ms ?? 0);
    this.#latest.set(channel, { ms, isSearched: true });
  }

  note(channel: string, fromMs: number, nowMs: number): void {
    if (this.#begun.get(channel)?.fromMs !== fromMs) this.#begun.set(channel, { fromMs, atMs: nowMs });
  }

  /** How long ago the title began that has this `fromMs`; 0: not known. */
  agoMs(channel: string, fromMs: number, nowMs: number): number {
    const begun = this.#begun.get(channel);
    return begun?.fromMs === fromMs ? nowMs - begun.atMs : 0;
  }
}

/** The entry with which the title in force begins, if it is among these: late reports of others move nothing. @param onAirSinceMs of the state */
export function begunIn<E extends Stretch>(entries: readonly E[], onAirSinceMs: number): E | undefined {
  return entries.findLast(({ fromMs, toMs }) => toMs === null && fromMs === onAirSinceMs);
}

/**
 * Whether these entries are in the future because the clock was ahead.
 * @param above entries that begin after the new one, oldest first
 * @param fromMs when that begins
 */
export function areFromAhead(above: readonly Stretch[], fromMs: number, time: SteadyTime): boolean {
  const [first] = above;
  if (first === undefined || above.length > MAX_FROM_AHEAD || time.isBehind) return false;
  // Entries that began before now are not: another machine may report a title long after it began.
  return first.fromMs - Math.max(fromMs, time.ms()) > FAR_AHEAD_MS;
}

/**
 * @param above as in areFromAhead
 * @param below the last that begins before the new one
 * @param agoMs how long ago the last of `above` began
 * @returns the moved entries, in the same order, and `below`, which ends earlier if its end was in the future
 */
export function putBefore<E extends Stretch>(
  above: readonly E[],
  below: E | undefined,
  fromMs: number,
  agoMs: number,
): { readonly above: readonly E[]; readonly below: E | undefined } {
  const minMs = below?.fromMs ?? 0;
  const aheadMs = above.at(-1)!.fromMs - (fromMs - agoMs);
  // Each title begins in a millisecond of its own.
  const begins = above.map((entry, i) =>
    Math.max(minMs + i + 1, Math.min(fromMs - above.length + i, entry.fromMs - aheadMs)),
  );
  const isCut = below !== undefined && below.toMs !== null && below.toMs > begins[0]!;
  return {
    above: above.map((entry, i) => ({ ...entry, fromMs: begins[i]!, toMs: begins[i + 1] ?? fromMs })),
    below: isCut ? { ...below, toMs: begins[0]! } : below,
  };
}
