/** A log that keeps its lines as objects: fields, level and message. */

import type { Log } from '../../src/base/log.js';

type Level = 'debug' | 'info' | 'warn' | 'error';

export type LogLine = Readonly<Record<string, unknown>> & { readonly level: Level; readonly message: string };

/** The kinds of sources on air, in order; null: none. @param of a channel; undefined: any */
export function sourceChanges(lines: readonly LogLine[], of?: string): unknown[] {
  const changes = lines.filter(({ message }) => message === 'source changed');
  return changes.filter(({ channel }) => of === undefined || channel === of).map(({ heard }) => heard);
}

export function keepLines(): { readonly log: Log; readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const at = (level: Level) => (fields: object, message: string) => void lines.push({ ...fields, level, message });
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  return { log: log as never, lines };
}
