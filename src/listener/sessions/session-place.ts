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
export interface SessionPlace extends SessionTimes {
  readonly worker: number;
}

/** Whether readers get `a` and not `b`. */
export function precedes(a: SessionPlace, b: SessionPlace): boolean {
  if (a.endedMs !== b.endedMs) return a.endedMs > b.endedMs;
  return a.sinceMs === b.sinceMs ? a.worker > b.worker : a.sinceMs > b.sinceMs;
}

export function plays({ endedMs }: SessionTimes): boolean {
  return endedMs === Number.POSITIVE_INFINITY;
}

export function isSamePlace(a: SessionPlace | null, b: SessionPlace | null): boolean {
  return a?.worker === b?.worker && a?.sinceMs === b?.sinceMs && a?.endedMs === b?.endedMs;
}

export function isSameSession(
  a: Pick<SessionPlace, 'worker' | 'sinceMs'>,
  b: Pick<SessionPlace, 'worker' | 'sinceMs'>,
): boolean {
  return a.worker === b.worker && a.sinceMs === b.sinceMs;
}
