/**
 * The one codec for infrequent messages: control messages and questions over a link, offers of tapes, encoders that are passed between processes,
 * facts and changes in Redis. It is JSON, with bytes in base64 and maps as lists of pairs, since an older Node cannot read v8's own format. Texts
 * are checked against a schema when they are read; members that the schema does not name are tolerated. Segments, titles on a tape and sessions
 * are binary (link/wire/members.ts).
 */

import * as z from 'zod';
import { CheckError, must } from './record-schema.js';

export function encode(value: unknown): string {
  return JSON.stringify(value, plain);
}

/** The value of a text, as the schema returns it. @throws CheckError with the first fault */
export function decode<T>(schema: z.ZodType<T>, text: string): T {
  return must(schema, parse(text));
}

/** Parses a text that more than one schema checks. @throws CheckError */
export function parse(text: string): unknown {
  if (isDeep(text)) throw new CheckError('it is nested too deeply');
  try {
    return JSON.parse(text);
  } catch {
    throw new CheckError('it is not JSON');
  }
}

/** Of objects and lists; we write a dozen. Unknown members are kept, and from some thousand levels on cannot be written again. */
const MAX_LEVELS = 100;
const [QUOTE, BACKSLASH, LIST, LIST_END, OBJECT, OBJECT_END] = Array.from('"\\[]{}', (sign) => sign.charCodeAt(0));

function isDeep(text: string): boolean {
  if (text.length <= 2 * MAX_LEVELS) return false;
  let level = 0;
  for (let i = 0; i < text.length; i++) {
    const sign = text.charCodeAt(i);
    if (sign === QUOTE) i = textEnd(text, i + 1);
    else if (sign === LIST || sign === OBJECT) {
      if (++level > MAX_LEVELS) return true;
    } else if (sign === LIST_END || sign === OBJECT_END) level--;
  }
  return false;
}

/** The offset of the quote that ends a string. @param from the offset behind the one that begins it */
function textEnd(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text.charCodeAt(first - 1) === BACKSLASH) first--;
    if ((end - first) % 2 === 0) return end;
  }
  return text.length;
}

/** @param most maximum number of bytes */
export function bytes(most: number) {
  return z
    .string()
    .max(4 * Math.ceil(most / 3))
    .regex(/^[A-Za-z0-9+/]*={0,2}$/)
    .transform((text): Buffer => Buffer.from(text, 'base64'))
    .refine(({ length }) => length <= most);
}

/** @param most maximum number of entries */
export function mapOf<T>(value: z.ZodType<T>, most: number) {
  return z
    .array(z.tuple([z.string(), value]))
    .max(most)
    .transform((entries): ReadonlyMap<string, T> => new Map(entries));
}

function plain(this: Readonly<Record<string, unknown>>, name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  // A buffer has been turned into a list of numbers here already.
  const own = this[name];
  if (own instanceof Buffer) return own.toString('base64');
  return own instanceof Map ? [...own] : value;
}
