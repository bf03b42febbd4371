/**
 * Zod schemas of a push: the rules of src/metadata/README.md, "Push fields", each with a message for a person. The API document is made
 * from the same schemas, and records of other machines are checked with them (record-schema.ts).
 *
 * The result is clean and within its limits. `null` counts as missing for optional members, and so does an empty time, tracktype, etype
 * or encoding.
 */

import * as z from 'zod';
import { isCharset } from '../base/charset.js';
import { ETYPES } from './record.js';
import { cleanText, cleanWithin, oneLine, utf8Bytes } from './text.js';
import { parsePushTime } from './time.js';
import { readZone } from './zone.js';

export interface PushLimits {
  /** Maximum number of parameters of a GET, including unknown and repeated ones. */
  readonly parameters: number;
  /** Each text, in bytes of UTF-8 after cleaning. */
  readonly textBytes: number;
  /** The cover, and the url of each image. */
  readonly urlBytes: number;
  /** Unicode characters. */
  readonly timezoneCharacters: number;
  /** extdata as stored: as sent, without white space. */
  readonly extdataBytes: number;
  /** Levels of objects and arrays in extdata, itself included; likewise in images. */
  readonly extdataDepth: number;
}

/** Marks an issue as one of size: the answer is then 413 rather than 422. */
const TOO_LARGE = { tooLarge: true };

export function isTooLarge(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'custom' && issue.params?.['tooLarge'] === true;
}

/** The charset of song, artist and separator; default `utf8`. */
const encoding = z.string().transform((value, context) => {
  const name = value.trim().toLowerCase();
  if (isCharset(name)) return name;
  const message = 'must be utf8, windows (Windows-1252), or another charset such as windows-1251, shift_jis';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

export type QueryFields = z.output<ReturnType<typeof querySchema>>;
export type PushIssues = z.ZodSafeParseResult<unknown>;

/** The fields of a GET push: all texts, none mandatory. Charset and literal `false` are handled before. */
export function querySchema(limits: PushLimits) {
  const text = cleaned(limits.textBytes);
  return z.object({
    encoding: defaulted(encoding),
    strict: defaulted(z.enum(['0', '1'], { error: 'must be 0 or 1' })),
    ...common(limits),
    song: text.optional(),
    artist: text.optional(),
    time: defaulted(z.string().transform(moment)),
    duration: z
      .string()
      .transform((value) => (value === 'null' ? null : value))
      .transform(wholeSeconds)
      .optional(),
  });
}

/** The body of a POST push: `song`, `artist` and `duration` are mandatory, unknown members are ignored. */
export function bodySchema(limits: PushLimits) {
  const text = cleaned(limits.textBytes);
  const part = z.preprocess((value) => value ?? (value === null ? '' : value), text);
  return z.object({
    ...common(limits),
    song: part,
    artist: part,
    time: defaulted(z.union([z.string(), z.number()], { error: TIME_MESSAGE }).transform(moment)),
    duration: z
      .union([z.number(), z.string(), z.null()], { error: missingOr('must be a number of seconds, 0 or null') })
      .transform(wholeSeconds),
    cover: cleaned(limits.urlBytes).nullish(),
    album: text.nullish(),
    images: defaulted(imagesSchema(limits.urlBytes)),
    extdata: defaulted(z.looseObject({}, { error: 'must be an object' })),
  });
}

/** @param urlBytes of each url */
export function imagesSchema(urlBytes: number) {
  const image = z.looseObject(
    {
      url: z
        .string({ error: missingOr('must be a string') })
        .refine(...fits(urlBytes))
        .nullable(),
    },
    { error: 'must be an object with a url' },
  );
  return z.looseObject(
    { small: defaulted(image), medium: defaulted(image), large: defaulted(image) },
    { error: 'must be an object with small, medium and large' },
  );
}

/** The optional fields that both ways share. */
function common(limits: PushLimits) {
  const text = cleaned(limits.textBytes);
  const separator = cleaned(limits.textBytes, oneLine);
  return {
    id: text.nullish(),
    tracktype: defaulted(anyCase({ now: 'now', next: 'next' })),
    etype: defaulted(
      z
        .union([z.int(), z.string().regex(/^\d{1,9}$/, { error: ETYPE_MESSAGE })], { error: ETYPE_MESSAGE })
        .transform(Number)
        .refine((id) => ETYPES.has(id), { error: ETYPE_MESSAGE }),
    ),
    isrc: text.nullish(),
    separator: separator.nullish(),
    // A misspelling in use.
    seperator: separator.nullish(),
    timezone: cleanedCharacters(limits.timezoneCharacters)
      .refine((name) => name === '' || readZone(name) !== null, { error: ZONE_MESSAGE })
      .nullish(),
  };
}

const ZONE_MESSAGE =
  "must be an IANA name such as Europe/Berlin, an offset such as -05:00, or Windows' name of a time zone";
const ETYPE_MESSAGE = `must be one of ${Array.from(ETYPES, ([id, name]) => `${id} (${name})`).join(', ')}`;

/** A text of at most this many bytes of UTF-8. @param cleaning `oneLine` if blanks at its ends count */
export function cleaned(limitBytes: number, cleaning = cleanText) {
  return z
    .string({ error: missingOr('must be a string') })
    .transform((value, context) => cleanWithin(value, limitBytes, cleaning) ?? tooLarge(context, tooLong(limitBytes)));
}

/** A text of at most this many Unicode characters, cleaned likewise. */
export function cleanedCharacters(limit: number) {
  return z.string({ error: 'must be a string' }).transform((value, context) => {
    const clean = cleanWithin(value, limit * 4);
    if (clean !== null && [...clean].length <= limit) return clean;
    return tooLarge(context, `must be at most ${limit} characters long`);
  });
}

function fits(limitBytes: number) {
  return [
    (value: string) => utf8Bytes(value) <= limitBytes,
    { error: tooLong(limitBytes), params: TOO_LARGE },
  ] as const;
}

function tooLong(limitBytes: number): string {
  return `must be at most ${limitBytes} bytes of UTF-8 long`;
}

function tooLarge(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message, params: TOO_LARGE });
  return z.NEVER;
}

function missingOr(message: string) {
  return (issue: { input?: unknown }) => (issue.input === undefined ? 'is missing' : message);
}

/** null and "" become undefined: the default. */
function defaulted<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (value === '' || value === null ? undefined : value), schema.optional()).optional();
}

/** One of these words in any case → its value. */
function anyCase<const T extends string>(words: Readonly<Record<string, T>>) {
  const error = `must be one of ${Object.keys(words).join(', ')}`;
  return z.string({ error }).transform((value, context): T => {
    const word = value.trim().toLowerCase();
    if (Object.hasOwn(words, word)) return words[word]!;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

const TIME_MESSAGE = 'must be RFC 3339, such as 2026-11-20T12:37:28Z, or unix seconds';

function moment(value: string | number, context: z.RefinementCtx): number {
  const seconds = parsePushTime(String(value).trim());
  if (seconds !== null) return seconds;
  context.addIssue({ code: 'custom', message: TIME_MESSAGE });
  return z.NEVER;
}

/** Seconds, with optional hours and minutes before them. */
const CLOCK = /^(?:(?:(\d{1,4}):)?(\d{1,6}):(?=\d\d?(?:\D|$)))?(\d+)(?:[.,]\d*)?$/;

/** Fractions are cut; null, "" and 0 mean no known end; bounded by exact integers only. */
function wholeSeconds(value: number | string | null, context: z.RefinementCtx): number {
  const seconds = typeof value === 'string' ? clockSeconds(value.trim()) : (value ?? 0);
  if (seconds >= 0 && Math.trunc(seconds) <= Number.MAX_SAFE_INTEGER) return Math.trunc(seconds) + 0;
  context.addIssue({ code: 'custom', message: 'must be seconds, 0 or more, or M:SS, or HH:MM:SS' });
  return z.NEVER;
}

/** `183`, `183.52`, `183,52`, `3:23`, `00:03:23`; "" is 0. NaN: invalid. */
function clockSeconds(text: string): number {
  if (text === '') return 0;
  const [, hours, minutes, seconds] = CLOCK.exec(text) ?? [];
  const isOver = (hours !== undefined && Number(minutes) > 59) || (minutes !== undefined && Number(seconds) > 59);
  if (seconds === undefined || isOver) return Number.NaN;
  return Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds);
}
