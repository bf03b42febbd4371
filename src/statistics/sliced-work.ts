/** Work over many rows, done in steps between which the event loop runs. The caller bounds how many run at once. */

import { setImmediate as breath } from 'node:timers/promises';
import type { FigureChange } from '../store/store.js';

/** Rows of one step: a millisecond or two. */
const STEP = 500;
/** Rows of a transaction: some milliseconds of the event loop. All rows of a scope are in the same one. */
const MIN_ROWS = 300;
/** Longest work in one turn of the event loop, if rows differ in cost. */
const SLICE_MS = 4;

/** Interrupts a loop of the caller after each SLICE_MS. */
export class Slices {
  #sinceMs = performance.now();

  /** Undefined: go on. */
  pause(): Promise<void> | undefined {
    if (performance.now() - this.#sinceMs < SLICE_MS) return undefined;
    return breath().then(() => {
      this.#sinceMs = performance.now();
    });
  }
}

export async function eachInSteps<T>(rows: Iterable<T>, onRow: (row: T) => void): Promise<void> {
  let left = STEP;
  for (const row of rows) {
    onRow(row);
    if (--left > 0) continue;
    left = STEP;
    await breath();
  }
}

/** A stable sort. */
export async function sortedInSteps<T>(rows: Iterable<T>, compare: (a: T, b: T) => number): Promise<T[]> {
  let runs: T[][] = [[]];
  await eachInSteps(rows, (row) => {
    if (runs.at(-1)!.length === STEP) runs.push([]);
    runs.at(-1)!.push(row);
  });
  for (const run of runs) {
    run.sort(compare);
    if (runs.length > 1) await breath();
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      merged.push(i + 1 < runs.length ? await mergedOf(runs[i]!, runs[i + 1]!, compare) : runs[i]!);
    }
    runs = merged;
  }
  return runs[0]!;
}

async function mergedOf<T>(one: readonly T[], other: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  const merged: T[] = [];
  let [i, j] = [0, 0];
  while (i < one.length || j < other.length) {
    const isOfOne = j === other.length || (i < one.length && compare(one[i]!, other[j]!) <= 0);
    merged.push(isOfOne ? one[i++]! : other[j++]!);
    if (merged.length % STEP === 0) await breath();
  }
  return merged;
}

/** Cuts a save between scopes, so that pushes that wait for the store, and the event loop, get their turn. */
export function* inTransactions(rows: Iterable<FigureChange>): Generator<FigureChange[]> {
  let some: FigureChange[] = [];
  for (const row of rows) {
    const [[, scope]] = row;
    if (some.length >= MIN_ROWS && some.at(-1)![0][1] !== scope) {
      yield some;
      some = [];
    }
    some.push(row);
  }
  if (some.length > 0) yield some;
}
