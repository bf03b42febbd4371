/**
 * Titles that came while the wall clock was ahead have entries in the future. When another title comes after the clock was set right, they are moved
 * to where they belong, before it. The monotonic clock knows how long ago the last of them came; how long each lasted stays as it was.
 *
 *   │ 1 │ 2 │                    │ 3 │ 4 │    5 comes ─►   │ 1 │ 2 │ 3 │ 4 │ 5
 *           ▲ 5 begins here
 */

import { FAR_AHEAD_MS, type SteadyTime } from '../base/steady-time.js';

/** Of an entry: when it began and ended. */
interface Stretch {
  readonly fromMs: number;
  readonly toMs: number | null;
}

/** More entries than this in the future were not written by mistake, and stay. */
export const MAX_FROM_AHEAD = 1000;

/** Of each channel, the title that began last, and when that was noted, monotonic milliseconds; and after which moment no entry begins. */
export class LastBegun {
  readonly #begun = new Map<string, { readonly fromMs: number; readonly atMs: number }>();
  /** Not below the beginning of any entry since this program started; `isSearched`: nor of those that were there before. */
  readonly #latest = new Map<string, { readonly ms: number; readonly isSearched: boolean }>();

  /** No entry of the channel begins later than this. Infinite: the channel has not been searched. */
  latestMs(channel: string): number {
    const latest = this.#latest.get(channel);
    return latest?.isSearched === true ? latest.ms : Number.POSITIVE_INFINITY;
  }

  /** An entry is about to be stored. */
  include(channel: string, fromMs: number): void {
    const { ms = 0, isSearched = false } = this.#latest.get(channel) ?? {};
    if (fromMs > ms) this.#latest.set(channel, { ms: fromMs, isSearched });
  }

  /** @param above as in areFromAhead, all of them: the channel was searched for them */
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

/** The entry of the title in force, where these begin it: another one may be said late, and moves nothing. @param onAirSinceMs of the state */
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
  // What began before now is not: another machine may say of a title that it began long ago.
  return first.fromMs - Math.max(fromMs, time.ms()) > FAR_AHEAD_MS;
}

/**
 * @param above as in areFromAhead
 * @param below the last that begins before the new one
 * @param agoMs how long ago the last of `above` began
 * @returns the entries as they are to be, in the same order, and `below`, which ends earlier where its end was in the future
 */
export function putBefore<E extends Stretch>(
  above: readonly E[],
  below: E | undefined,
  fromMs: number,
  agoMs: number,
): { readonly above: readonly E[]; readonly below: E | undefined } {
  const leastMs = below?.fromMs ?? 0;
  const aheadMs = above.at(-1)!.fromMs - (fromMs - agoMs);
  // No two titles begin in one millisecond.
  const begins = above.map((entry, i) =>
    Math.max(leastMs + i + 1, Math.min(fromMs - above.length + i, entry.fromMs - aheadMs)),
  );
  const isCut = below !== undefined && below.toMs !== null && below.toMs > begins[0]!;
  return {
    above: above.map((entry, i) => ({ ...entry, fromMs: begins[i]!, toMs: begins[i + 1] ?? fromMs })),
    below: isCut ? { ...below, toMs: begins[0]! } : below,
  };
}
