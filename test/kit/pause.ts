/**
 * Sleeps, by what they are for. What a test waits for, it waits for with `until` (until.ts) or, for bytes that a server has to read apart,
 * with `arrived` (wire.ts). test/tree.test.ts holds that tests sleep in no other way.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { until } from './until.js';

/** The time for which a test asserts that nothing happens: longer than what must not happen would take. */
export const quietFor = (ms: number): Promise<void> => sleep(ms);

/** A peer, a disk or a person that takes its time, or comes at any moment. */
export const pause = (ms: number): Promise<void> => sleep(ms);

/** Holds this thread, and with it all that runs on its event loop, at no CPU. */
export function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Waits until `value` has stayed the same for `ms`; returns it. */
export async function settled(value: () => number, ms: number, mostMs: number): Promise<number> {
  let last = value();
  let sinceMs = performance.now();
  await until(
    () => {
      const now = value();
      if (now !== last) sinceMs = performance.now();
      last = now;
      return performance.now() - sinceMs >= ms;
    },
    mostMs,
    () => `${last}, and still changing`,
  );
  return last;
}
