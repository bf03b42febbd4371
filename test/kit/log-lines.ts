/** A log whose lines are kept as they were written: fields, and the message as one of them. */

import type { Log } from '../../src/log.js';

export type LogLine = Readonly<Record<string, unknown>> & { readonly message: string };

export function keepLines(): { readonly log: Log; readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const keep = (fields: object, message: string) => void lines.push({ ...fields, message });
  return { log: { debug: keep, info: keep, warn: keep, error: keep } as never, lines };
}
