/**
 * Sleeps, named by purpose. To wait for something, tests use `until` (until.ts), or, for bytes that a server must read separately, `arrived`
 * (wire.ts). test/tree.test.ts checks that tests sleep in no other way.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { until } from './until.js';

/** The time in which a test asserts that nothing happens; longer than the unwanted event would take. */
export const quietFor = (ms: number): Promise<void> => sleep(ms);

/** The delay of a slow peer, disk or person, or a random moment. */
export const pause = (ms: number): Promise<void> => sleep(ms);

/** Blocks this thread and its event loop, without using CPU. */
export function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Waits until `value` has stayed the same for `ms`; returns it. */
export async function settled(value: () => number, ms: number, maxMs: number): Promise<number> {
  let last = value();
  let sinceMs = performance.now();
  await until(
    () => {
      const now = value();
      if (now !== last) sinceMs = performance.now();
      last = now;
      return performance.now() - sinceMs >= ms;
    },
    maxMs,
    () => `${last}, and still changing`,
  );
  return last;
}
