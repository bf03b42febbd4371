/**
 * The log on standard error: JSON lines by pino, or text for people (log-text.ts). Callers choose the fields one by one, and never log a request
 * line, a head or a configuration value, which could contain a token or a password. Repeated faults are counted, and logged at most once a second.
 *
 * The reader of the log may be slow, stop, or have a full disk: lines wait for it up to a bound, further ones are lost and counted, and streams
 * are not affected.
 */

import { type Logger, pino } from 'pino';
import { textLine } from './log-text.js';
import { Output } from './output.js';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** `auto`: text if standard error is a terminal, else JSON. */
export const LOG_FORMATS = ['auto', 'json', 'text'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

export interface OpenLog {
  readonly log: Log & Pick<Logger, 'fatal'>;
  readonly level: LogLevel;
  /** Takes effect with the next line. */
  setLevel(level: LogLevel): void;
  /** Writes the waiting lines; later ones are lost. Resolves when the reader has taken them. */
  close(): Promise<void>;
}

/**
 * @param level `silent`: nothing is written
 * @param bufferBytes maximum that may wait for the reader of the log
 */
export function openLog(level: LogLevel, bufferBytes: number, format: LogFormat = 'json'): OpenLog {
  const isText = format === 'text' || (format === 'auto' && process.stderr.isTTY === true);
  const isColoured = process.stderr.isTTY === true && !process.env['NO_COLOR'];
  const output = Output.toStandardError({
    bufferBytes,
    onFailed: () => undefined,
    onRecovered: (lines) => log.warn({ lines }, 'lines of this log were lost: its reader was too slow'),
  });
  // Pino's lines include the line end.
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

/** Logs repeated faults: the first one at once, further ones within a second as a count in the next line. */
export class Repeats {
  readonly #log: Log;
  readonly #seen = new Map<string, { loggedMs: number; suppressed: number }>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** @param key identifies the fault; from a small, fixed set, since it is kept @param quietMs minimum between two lines */
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
