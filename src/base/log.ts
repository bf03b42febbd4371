/**
 * The log: JSON lines on standard error, by pino. What is logged is chosen field by field; no request line, head or configuration
 * value goes into it, so tokens and passwords cannot. Faults that repeat are counted and told at most once a second.
 *
 * Whoever takes the log may be slow, stop, or have a full disk: lines wait for it up to a bound, what is more is lost and counted, and
 * the radio plays on.
 */

import { type Logger, pino } from 'pino';
import { Output } from './output.js';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

export interface OpenLog {
  readonly log: Log & Pick<Logger, 'fatal'>;
  /** Writes what waits; what is logged from the call on is lost. Resolves when it has been taken. */
  close(): Promise<void>;
}

/**
 * @param level of pino; `silent`: nothing is written
 * @param bufferBytes how much may wait for whoever takes the log
 */
export function openLog(level: string, bufferBytes: number): OpenLog {
  const output = Output.toStandardError({
    bufferBytes,
    onFailed: () => undefined,
    onRecovered: (lines) => log.warn({ lines }, 'lines of this log were lost: nobody took them in time'),
  });
  const log: OpenLog['log'] = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    // Pino ends each with a line end.
    { write: (line) => output.write(line.slice(0, -1)) },
  );
  return { log, close: () => output.close() };
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
    this.#log.warn(seen !== undefined && seen.silent > 0 ? { ...fields, suppressed: seen.silent } : fields, message);
  }
}
