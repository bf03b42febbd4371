/**
 * Which of several sessions of one metaid readers get: the newest that still plays, else the one that ended last. All processes agree, in
 * whatever order they learn of them.
 */

/** Times of a session, milliseconds of a clock that all processes share. */
export interface SessionTimes {
  /** When it was opened. */
  readonly sinceMs: number;
  /** +∞: it plays. */
  readonly endedMs: number;
}

/** A session's times and its process. */
export interface SessionLocation extends SessionTimes {
  readonly worker: number;
}

/** Whether readers get `a` and not `b`. */
export function precedes(a: SessionLocation, b: SessionLocation): boolean {
  if (a.endedMs !== b.endedMs) return a.endedMs > b.endedMs;
  return a.sinceMs === b.sinceMs ? a.worker > b.worker : a.sinceMs > b.sinceMs;
}

export function plays({ endedMs }: SessionTimes): boolean {
  return endedMs === Number.POSITIVE_INFINITY;
}

export function isSameLocation(a: SessionLocation | null, b: SessionLocation | null): boolean {
  return a?.worker === b?.worker && a?.sinceMs === b?.sinceMs && a?.endedMs === b?.endedMs;
}

export function isSameSession(
  a: Pick<SessionLocation, 'worker' | 'sinceMs'>,
  b: Pick<SessionLocation, 'worker' | 'sinceMs'>,
): boolean {
  return a.worker === b.worker && a.sinceMs === b.sinceMs;
}
