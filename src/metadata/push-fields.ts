/**
 * The fields of a push as a client sends them: in the address, as a form, as multipart/form-data. All have the rules of GET; those of a body
 * count more than those of the address. They are read when their charset is known, each once.
 */

import { isCharset, isUtf8Name } from '../base/charset.js';
import { Refusal } from '../base/refusal.js';
import { boundaryOf, type FormPart, formParts } from './multipart.js';
import { queryFields, queryText } from './query.js';
import { cleanText, cutBytes, cutUnclean, decodeNamed } from './text.js';

type Decode = (bytes: Buffer) => string | null;

/** Name in lower case → what gives its value in a charset, or null: its bytes are none of it. */
export type PushFields = ReadonlyMap<string, (decode: Decode) => string | null>;

const URLENCODED = /^application\/x-www-form-urlencoded\s*(;|$)/i;

/** Behind the name of a field: a parameter that nobody knows, for a charset that nobody knows. */
export const OF_CHARSET = '.charset';

/** Whether a body of this type holds fields. */
export function isForm(contentType: string): boolean {
  return URLENCODED.test(contentType) || boundaryOf(contentType) !== null;
}

/** A name of the sender's, to be logged and answered. */
export function printableName(name: string): string {
  return cutBytes(cleanText(cutUnclean(name, NAME_BYTES)), NAME_BYTES);
}

const NAME_BYTES = 64;

/**
 * @param rawQuery the text after `?`, undecoded; `""` when there is none
 * @throws Refusal bad-request
 */
export function urlFields(rawQuery: string, mostFields: number): PushFields {
  const fields = queryFields(rawQuery, mostFields);
  if (fields === null) throw tooMany(mostFields);
  return new Map(Array.from(fields, ([name, value]) => [name, (decode) => queryText(value, decode)]));
}

/**
 * @param contentType one for which isForm is true
 * @throws Refusal bad-request
 */
export function formFields(body: Buffer, contentType: string, rawQuery: string, mostFields: number): PushFields {
  const boundary = boundaryOf(contentType);
  if (boundary === null) return urlFields(`${rawQuery}&${body.toString('latin1').trimEnd()}`, mostFields);
  const fields = urlFields(rawQuery, mostFields);
  const parts = formParts(body, boundary, mostFields - fields.size);
  if (parts === 'too-many') throw tooMany(mostFields);
  if (parts === 'malformed')
    throw new Refusal('bad-request', 'The body is not multipart/form-data with that boundary.');
  const foreign = [...parts].filter(([, { charset }]) => charset !== '' && !isCharset(charset));
  return new Map([
    ...fields,
    ...Array.from(parts, ([name, part]) => [name, readerOf(part)] as const),
    ...foreign.map(([name, { charset }]) => [`${name}${OF_CHARSET}`, () => charset] as const),
  ]);
}

/** A charset that the part names itself counts, where it is not the one that all have. */
function readerOf({ bytes, charset }: FormPart): (decode: Decode) => string | null {
  if (charset === '' || isUtf8Name(charset)) return (decode) => decode(bytes);
  return (decode) => decodeNamed(bytes, charset) ?? decode(bytes);
}

function tooMany(mostFields: number): Refusal {
  return new Refusal('bad-request', `There are more than ${mostFields} parameters.`);
}
