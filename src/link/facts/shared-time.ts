/** Times shared by all processes of a machine: each process's own monotonic clock starts with the process. */

import type { Clock } from '../../base/clock.js';

/** Milliseconds of the system's monotonic clock. @param ownMs as `clock.now()` gives them */
export function sharedMs(clock: Pick<Clock, 'now'>, ownMs: number): number {
  return systemMs() - clock.now() + ownMs;
}

/** The reverse: milliseconds of `clock.now()`. */
export function ownMs(clock: Pick<Clock, 'now'>, sharedMs: number): number {
  return sharedMs - systemMs() + clock.now();
}

/** @param aheadMs how far the time to follow is ahead of the system's monotonic clock */
export function followTime(clock: Pick<Clock, 'now' | 'follow'>, aheadMs: number): void {
  clock.follow(systemMs() - clock.now() + aheadMs);
}

/** Milliseconds of the system's monotonic clock, now. */
export function systemMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
