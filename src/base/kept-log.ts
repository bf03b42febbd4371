/** The last lines of a log, for an operator who looks: passes everything on, and keeps what is `info` or worse as it would be written. */

import type { Log } from './log.js';

export interface KeptLine {
  /** Unix milliseconds. */
  readonly atMs: number;
  /** JSON, on one line. */
  readonly line: string;
}

export class KeptLog {
  readonly #max: number;
  readonly #lines: KeptLine[] = [];
  /** Rises with every line, so that two of one millisecond are told apart. */
  #lastMs = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Those after this moment, oldest first. */
  after(ms: number): readonly KeptLine[] {
    return this.#lines.filter(({ atMs }) => atMs > ms);
  }

  /** A log that keeps its lines here. */
  over(log: Log): Log {
    const keeping =
      (level: 'info' | 'warn' | 'error') =>
      (fields: object | string, message?: string, ...rest: unknown[]): void => {
        this.#keep(level, fields, message);
        (log[level] as (...all: unknown[]) => void)(fields, message, ...rest);
      };
    return {
      // Looked up each time: another level of the log replaces its methods.
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
    // The wall clock's, even where it was set back; only `atMs` always rises.
    const time = new Date(wallMs).toISOString();
    if (this.#lines.push({ atMs, line: JSON.stringify({ level, time, ...named }, plain) }) > this.#max)
      this.#lines.shift();
  }
}

/** An error says what it is, as pino has it, without its stack. */
function plain(_key: string, value: unknown): unknown {
  return value instanceof Error ? { type: value.name, message: value.message } : value;
}
