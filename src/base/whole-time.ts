/**
 * Moments at which what has to be done now and then is done together, so that a process without clients wakes once for all of it. Of the monotonic
 * clock, which is `performance.now()` for timers of the system too.
 */

/** The next moment that is a whole multiple of `everyMs`. */
export function nextWhole(everyMs: number, nowMs: number): number {
  return (Math.floor(nowMs / everyMs) + 1) * everyMs;
}

/**
 * For a timer of the system, which counts whole milliseconds from the beginning of the present turn of the loop: one that ends a moment too soon
 * would be a wake-up for nothing.
 */
export function msUntil(dueMs: number): number {
  return Math.max(1, Math.ceil(dueMs - performance.now()) + 1);
}
