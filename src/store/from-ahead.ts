/**
 * Titles that came while the wall clock was ahead, and stand in the history of days to come: when another title comes after the clock was set right, they are put where
 * they were, before it. How long ago the last of them came is known by the monotonic clock; how long they lasted stays as it was.
 *
 *   │ 1 │ 2 │                    │ 3 │ 4 │    5 comes ─►   │ 1 │ 2 │ 3 │ 4 │ 5
 *           ▲ 5 is to stand here
 */

import { FAR_AHEAD_MS, type SteadyTime } from '../base/steady-time.js';

/** Of an entry: when it began and ended. */
interface Stretch {
  readonly fromMs: number;
  readonly toMs: number | null;
}

/** More than these were not written by mistake. */
export const MOST_FROM_AHEAD = 1000;

/** The titles that begin last, and when that was said, monotonic milliseconds. */
export class LastBegun {
  readonly #begun = new Map<string, { readonly fromMs: number; readonly atMs: number }>();

  note(channel: string, fromMs: number, nowMs: number): void {
    if (this.#begun.get(channel)?.fromMs !== fromMs) this.#begun.set(channel, { fromMs, atMs: nowMs });
  }

  /** How long ago the title began that began then by the wall clock; 0: it is not known. */
  agoMs(channel: string, fromMs: number, nowMs: number): number {
    const begun = this.#begun.get(channel);
    return begun?.fromMs === fromMs ? nowMs - begun.atMs : 0;
  }
}

/**
 * Whether these stand in the future because the clock was ahead.
 * @param above entries that begin after the new one, oldest first
 * @param fromMs when that begins
 */
export function areFromAhead(above: readonly Stretch[], fromMs: number, time: SteadyTime): boolean {
  const [first] = above;
  if (first === undefined || above.length > MOST_FROM_AHEAD || time.isBehind) return false;
  return first.fromMs - fromMs > FAR_AHEAD_MS;
}

/**
 * @param above as in areFromAhead
 * @param below the last that begins before the new one
 * @param agoMs how long ago the last of `above` began
 * @returns what takes their places, in the same order, and that of `below`, where its end lies ahead as well
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
