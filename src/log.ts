/**
 * The log: JSON lines on standard error, by pino. What is logged is chosen field by field; no request line, head or configuration
 * value goes into it, so tokens and passwords cannot. Faults that repeat are counted and told at most once a second.
 */

import { type Logger, pino } from 'pino';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

export function makeLog(level: string): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
}

const QUIET_MS = 1000;

/** Tells a fault that may repeat: the first at once, later ones within a second only as a count with the next. */
export class Repeats {
  readonly #log: Log;
  readonly #seen = new Map<string, { toldMs: number; silent: number }>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** @param key what counts as the same fault; from a small, fixed set, since it is remembered */
  warn(key: string, fields: Record<string, unknown>, message: string): void {
    const nowMs = performance.now();
    const seen = this.#seen.get(key);
    if (seen !== undefined && nowMs - seen.toldMs < QUIET_MS) {
      seen.silent++;
      return;
    }
    this.#seen.set(key, { toldMs: nowMs, silent: 0 });
    this.#log.warn(seen !== undefined && seen.silent > 0 ? { ...fields, untold: seen.silent } : fields, message);
  }
}
