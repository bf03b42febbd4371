/**
 * Compares titles with sound: assigns changes of the sound to titles, and computes their distances and whether these meet a goal. Pure.
 */

import type { Change } from './changes.js';
import type { DisplayedTitle } from './chromium.js';
import { numberOf } from './tone-encoder.js';
import { STEP_MS, TONES } from './tones.js';

/** Tolerance for the clocks of two programs, by which sound may be heard slightly before its frame's time. */
const CLOCKS_MS = 500;
/** Titles at the start and the end of a recording do not count, since they may lack their sound. */
const EDGE_MS = 1000;

/** A change of the sound, with the number of the title that begins with it. */
export interface HeardChange {
  readonly number: number;
  readonly ms: number;
}

/** The error of a title: title − sound, milliseconds; positive: the title is late. */
export interface Mistake {
  readonly number: number;
  /** When its sound was heard. */
  readonly ms: number;
  readonly errorMs: number;
}

/** Median of the errors, and 95th percentile of their absolute values. */
export interface Figures {
  readonly count: number;
  readonly medianMs: number;
  readonly p95Ms: number;
}

/** Limits of both, milliseconds. */
export interface Goal {
  readonly medianMs: number;
  readonly p95Ms: number;
}

/**
 * Numbers the changes by the times at which their frames entered the server: a change belongs to the last possible title with its tone. The first
 * sound of a listener, and one after silence, is not a change.
 */
export function numberChanges(
  changes: readonly (Change & { readonly ms: number })[],
  enteredMs: readonly number[],
): HeardChange[] {
  return changes.flatMap(({ tone, ms, afterSilence }) => {
    const number = enteredMs.findLastIndex((entered, each) => each % TONES === tone && entered < ms + CLOCKS_MS);
    return number === -1 || afterSilence || ms - enteredMs[number]! > (TONES - 1) * STEP_MS ? [] : [{ number, ms }];
  });
}

/** Numbers the changes of audio without times, by the intervals at which their frames entered. */
export function numberInOrder(
  changes: readonly (Change & { readonly ms: number })[],
  enteredMs: readonly number[],
): HeardChange[] {
  const heard = changes.filter(({ afterSilence }) => !afterSilence);
  const first = heard[0];
  if (first === undefined) return [];
  let [best, least] = [-1, Number.POSITIVE_INFINITY];
  for (let number = first.tone; number < enteredMs.length; number += TONES) {
    const fits = heard.map(({ ms }, i) => {
      const entered = enteredMs[number + i];
      return entered === undefined ? STEP_MS : Math.abs(ms - first.ms - (entered - enteredMs[number]!));
    });
    const misfit = fits.reduce((sum, each) => sum + each, 0);
    if (misfit < least) [best, least] = [number, misfit];
  }
  return best === -1 ? [] : heard.map(({ ms }, i) => ({ number: best + i, ms }));
}

/**
 * A title counts when it is first shown. Titles that were never shown are missing, unless their sound is the last; those shown again, or after a
 * newer one, are repeated.
 * @param disturbed titles that do not count (disturbance.ts)
 */
export function compare(
  displayed: readonly DisplayedTitle[],
  heard: readonly HeardChange[],
  disturbed: ReadonlySet<number>,
): { readonly mistakes: Mistake[]; readonly missing: number; readonly repeated: number } {
  const moments = new Map<number, number>();
  let [newest, repeated] = [-1, 0];
  for (const { song, ms } of displayed) {
    const number = numberOf(song);
    if (number <= newest) repeated++;
    else moments.set(number, ms);
    newest = Math.max(newest, number);
  }
  const lastMs = Math.max(...heard.map(({ ms }) => ms));
  const mistakes: Mistake[] = [];
  let missing = 0;
  for (const { number, ms } of heard) {
    if (disturbed.has(number)) continue;
    const displayedMs = moments.get(number);
    if (displayedMs !== undefined) mistakes.push({ number, ms, errorMs: displayedMs - ms });
    else if (ms < lastMs - EDGE_MS) missing++;
  }
  return { mistakes, missing, repeated };
}

export function figuresOf(errors: readonly number[]): Figures {
  const sizes = errors.map(Math.abs).sort((a, b) => a - b);
  return {
    count: errors.length,
    medianMs: median(errors),
    p95Ms: sizes[Math.max(0, Math.ceil(0.95 * sizes.length) - 1)] ?? Number.NaN,
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export function isHeld({ count, medianMs, p95Ms }: Figures, goal: Goal): boolean {
  return count > 0 && Math.abs(medianMs) <= goal.medianMs && p95Ms <= goal.p95Ms;
}
