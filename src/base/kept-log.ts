/** The last lines of a log, for operators: passes all lines on, and keeps those of `info` and above in their written form. */

import type { Log } from './log.js';

export interface KeptLine {
  /** Unix milliseconds, unique: later lines have a larger one. */
  readonly atMs: number;
  /** JSON, on one line. */
  readonly line: string;
}

export class KeptLog {
  readonly #max: number;
  readonly #lines: KeptLine[] = [];
  /** `atMs` of the last line. */
  #lastMs = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** The lines after this moment, oldest first. */
  after(ms: number): readonly KeptLine[] {
    return this.#lines.filter(({ atMs }) => atMs > ms);
  }

  /** Wraps a log, whose lines are kept here. */
  over(log: Log): Log {
    const keeping =
      (level: 'info' | 'warn' | 'error') =>
      (fields: object | string, message?: string, ...rest: unknown[]): void => {
        this.#keep(level, fields, message);
        (log[level] as (...all: unknown[]) => void)(fields, message, ...rest);
      };
    return {
      // Looked up each time, since a change of the log's level replaces its methods.
      debug: (...all: unknown[]) => (log.debug as (...all: unknown[]) => void)(...all),
      info: keeping('info'),
      warn: keeping('warn'),
      error: keeping('error'),
    } as Log;
  }

  #keep(level: string, fields: object | string, message: string | undefined): void {
    const wallMs = Date.now();
    const atMs = Math.max(wallMs, this.#lastMs + 0.001);
    this.#lastMs = atMs;
    const named = typeof fields === 'string' ? { msg: fields } : { ...fields, msg: message };
    // The wall clock's time, even after it was set back; only `atMs` must rise.
    const time = new Date(wallMs).toISOString();
    if (this.#lines.push({ atMs, line: JSON.stringify({ level, time, ...named }, plain) }) > this.#max)
      this.#lines.shift();
  }
}

/** An error as in pino's lines, but without its stack. */
function plain(_key: string, value: unknown): unknown {
  return value instanceof Error ? { type: value.name, message: value.message } : value;
}
