/**
 * A line of the log as text for people: time of day, level, message, fields, and below it an error's stack. It is made from the JSON line, so that
 * untrusted text is escaped in the same way.
 *
 *   22:54:01.123 INFO  source changed  channel=demo heard=file reason="has bytes"
 */

import { printable } from './printable.js';

const LEVELS: Readonly<Record<number, readonly [name: string, colour: number]>> = {
  20: ['DEBUG', 2],
  30: ['INFO ', 32],
  40: ['WARN ', 33],
  50: ['ERROR', 31],
  60: ['FATAL', 31],
};
const BARE = /^[\w.:/+@-]+$/;
const DIM = 2;

/** @param line of pino, without its line end @param isColoured for a terminal with colours */
export function textLine(line: string, isColoured: boolean): string {
  const { level, time, msg = '', err, ...fields } = JSON.parse(line);
  const [name, colour] = LEVELS[level] ?? [String(level), DIM];
  const paint = (text: string, code: number) => (isColoured && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text);
  const rest = Object.entries(fields).map(([key, value]) => `${key}=${textOf(value)}`);
  const at = new Date(time);
  const clock = `${at.toTimeString().slice(0, 8)}.${String(at.getMilliseconds()).padStart(3, '0')}`;
  const head = [paint(clock, DIM), paint(name, colour), printable(msg)].join(' ');
  const tail = rest.length === 0 ? '' : `  ${paint(rest.join(' '), DIM)}`;
  return `${head}${tail}${errorLines(err)}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' && BARE.test(value) ? value : printable(JSON.stringify(value));
}

function errorLines(error: unknown): string {
  if (typeof error !== 'object' || error === null) return error === undefined ? '' : `  err=${textOf(error)}`;
  const { stack, message } = error as { readonly stack?: unknown; readonly message?: unknown };
  const lines = String(stack ?? message ?? JSON.stringify(error)).split('\n');
  return lines.map((line) => `\n    ${printable(line)}`).join('');
}
