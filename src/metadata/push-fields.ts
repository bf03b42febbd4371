/**
 * The fields of a push from the URL, a form, or multipart/form-data. All follow the rules of GET; those of a body override those of the
 * URL. Values are decoded later, when their charset is known.
 */

import { isCharset, isUtf8Name, trimmedBytes } from '../base/charset.js';
import { Refusal } from '../base/refusal.js';
import { boundaryOf, type FormPart, formParts } from './multipart.js';
import { queryFields, queryText } from './query.js';
import { cleanText, cutBytes, cutUnclean, decodeNamed } from './text.js';

type Decode = (bytes: Buffer) => string | null;

/** Name in lower case → function that decodes the value; null: invalid in that charset. */
export type PushFields = ReadonlyMap<string, (decode: Decode) => string | null>;

const URLENCODED = /^application\/x-www-form-urlencoded\s*(;|$)/i;

/** Suffix of a field's name: `song.charset` is reported as an ignored parameter if the charset of `song` is unknown. */
export const OF_CHARSET = '.charset';

/** Whether a body of this type holds fields. */
export function isForm(contentType: string): boolean {
  return URLENCODED.test(contentType) || boundaryOf(contentType) !== null;
}

/** A parameter's name, for logs and answers. */
export function printableName(name: string): string {
  return cutBytes(cleanText(cutUnclean(name, NAME_BYTES)), NAME_BYTES);
}

const NAME_BYTES = 64;

/**
 * @param rawQuery the text after `?`, undecoded; `""` when there is none
 * @throws Refusal bad-request
 */
export function urlFields(rawQuery: string, maxFields: number): PushFields {
  const fields = queryFields(rawQuery, maxFields);
  if (fields === null) throw tooMany(maxFields);
  return new Map(Array.from(fields, ([name, value]) => [name, (decode) => queryText(value, decode)]));
}

/**
 * @param contentType one for which isForm is true
 * @throws Refusal bad-request
 */
export function formFields(body: Buffer, contentType: string, rawQuery: string, maxFields: number): PushFields {
  const boundary = boundaryOf(contentType);
  if (boundary === null) return urlFields(`${rawQuery}&${trimmedBytes(body.toString('latin1'))}`, maxFields);
  const fields = urlFields(rawQuery, maxFields);
  const parts = formParts(body, boundary, maxFields - fields.size);
  if (parts === 'too-many') throw tooMany(maxFields);
  if (parts === 'malformed')
    throw new Refusal('bad-request', 'The body is not multipart/form-data with the given boundary.');
  const foreign = [...parts].filter(([, { charset }]) => charset !== '' && !isCharset(charset));
  return new Map([
    ...fields,
    ...Array.from(parts, ([name, part]) => [name, readerOf(part)] as const),
    ...foreign.map(([name, { charset }]) => [`${name}${OF_CHARSET}`, () => charset] as const),
  ]);
}

/** A part's own charset counts, unless it is UTF-8. */
function readerOf({ bytes, charset }: FormPart): (decode: Decode) => string | null {
  if (charset === '' || isUtf8Name(charset)) return (decode) => decode(bytes);
  return (decode) => decodeNamed(bytes, charset) ?? decode(bytes);
}

function tooMany(maxFields: number): Refusal {
  return new Refusal('bad-request', `More than ${maxFields} parameters.`);
}
