/**
 * Common moments for periodic work, so that a process without clients wakes once for all of it. By the monotonic clock, `performance.now()`.
 */

/** The next moment that is a multiple of `everyMs`. */
export function nextWhole(everyMs: number, nowMs: number): number {
  return (Math.floor(nowMs / everyMs) + 1) * everyMs;
}

/** The delay for setTimeout, which counts whole milliseconds from the start of the loop's current turn; longer, so that it never fires early. */
export function msUntil(dueMs: number): number {
  return Math.max(1, Math.ceil(dueMs - performance.now()) + 1);
}
