/**
 * The log on standard error: JSON lines by pino, or text for a person (log-text.ts). What is logged is chosen field by field; no request line, head
 * or configuration value goes into it, so tokens and passwords cannot. Faults that repeat are counted and logged at most once a second.
 *
 * The reader of the log may be slow, stop, or have a full disk: lines wait for it up to a bound, the rest is lost and counted, and the
 * streams play on.
 */

import { type Logger, pino } from 'pino';
import { textLine } from './log-text.js';
import { Output } from './output.js';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** `auto`: text where standard error is a terminal, else JSON. */
export const LOG_FORMATS = ['auto', 'json', 'text'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

export interface OpenLog {
  readonly log: Log & Pick<Logger, 'fatal'>;
  readonly level: LogLevel;
  /** From the next line on. */
  setLevel(level: LogLevel): void;
  /** Writes what waits; what is logged after the call is lost. Resolves when it has been taken. */
  close(): Promise<void>;
}

/**
 * @param level `silent`: nothing is written
 * @param bufferBytes how much may wait for the reader of the log
 */
export function openLog(level: LogLevel, bufferBytes: number, format: LogFormat = 'json'): OpenLog {
  const isText = format === 'text' || (format === 'auto' && process.stderr.isTTY === true);
  const isColoured = process.stderr.isTTY === true && !process.env['NO_COLOR'];
  const output = Output.toStandardError({
    bufferBytes,
    onFailed: () => undefined,
    onRecovered: (lines) => log.warn({ lines }, 'lines of this log were lost: its reader was too slow'),
  });
  // Pino ends each with a line end.
  const write = isText
    ? (line: string) => output.write(textLine(line.slice(0, -1), isColoured))
    : (line: string) => output.write(line.slice(0, -1));
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, { write });
  return {
    log,
    get level() {
      return log.level as LogLevel;
    },
    setLevel: (next) => {
      log.level = next;
    },
    close: () => output.close(),
  };
}

const QUIET_MS = 1000;

/** Logs a fault that may repeat: the first at once, later ones within a second only as a count in the next line. */
export class Repeats {
  readonly #log: Log;
  readonly #seen = new Map<string, { loggedMs: number; suppressed: number }>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** @param key what counts as the same fault; from a small, fixed set, since it is kept @param quietMs between two lines */
  warn(key: string, fields: Record<string, unknown>, message: string, quietMs = QUIET_MS): void {
    const nowMs = performance.now();
    const seen = this.#seen.get(key);
    if (seen !== undefined && nowMs - seen.loggedMs < quietMs) {
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
