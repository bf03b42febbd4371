/**
 * The log: JSON lines on standard error, by pino. What is logged is chosen field by field; no request line, head or configuration
 * value goes into it, so tokens and passwords cannot. Faults that repeat are counted and logged at most once a second.
 *
 * The reader of the log may be slow, stop, or have a full disk: lines wait for it up to a bound, the rest is lost and counted, and the
 * streams play on.
 */

import { type Logger, pino } from 'pino';
import { Output } from './output.js';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

export interface OpenLog {
  readonly log: Log & Pick<Logger, 'fatal'>;
  /** Writes what waits; what is logged after the call is lost. Resolves when it has been taken. */
  close(): Promise<void>;
}

/**
 * @param level of pino; `silent`: nothing is written
 * @param bufferBytes how much may wait for the reader of the log
 */
export function openLog(level: string, bufferBytes: number): OpenLog {
  const output = Output.toStandardError({
    bufferBytes,
    onFailed: () => undefined,
    onRecovered: (lines) => log.warn({ lines }, 'lines of this log were lost: its reader was too slow'),
  });
  const log: OpenLog['log'] = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    // Pino ends each with a line end.
    { write: (line) => output.write(line.slice(0, -1)) },
  );
  return { log, close: () => output.close() };
}

const QUIET_MS = 1000;

/** Logs a fault that may repeat: the first at once, later ones within a second only as a count in the next line. */
export class Repeats {
  readonly #log: Log;
  readonly #seen = new Map<string, { loggedMs: number; suppressed: number }>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** @param key what counts as the same fault; from a small, fixed set, since it is kept */
  warn(key: string, fields: Record<string, unknown>, message: string): void {
    const nowMs = performance.now();
    const seen = this.#seen.get(key);
    if (seen !== undefined && nowMs - seen.loggedMs < QUIET_MS) {
      seen.suppressed++;
      return;
    }
    this.#seen.set(key, { loggedMs: nowMs, suppressed: 0 });
    this.#log.warn(
      seen !== undefined && seen.suppressed > 0 ? { ...fields, suppressed: seen.suppressed } : fields,
      message,
    );
  }
}
