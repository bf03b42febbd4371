/**
 * Parses a push from HTTP into a typed value; the only place that does. All other code trusts the result: texts are NFC without
 * controls, numbers whole and in range, times expressible in RFC 3339.
 *
 * A push is applied completely or refused, with every bad field named at once (bad-fields.ts). The rules: src/metadata/README.md, "Push fields".
 */

import type { z } from 'zod';
import { decodeCharset, isUtf8Name } from '../base/charset.js';
import { Refusal } from '../base/refusal.js';
import { MAX_PUSH } from '../config/push-limits.js';
import { type BadField, badFields, refusalOf } from './bad-fields.js';
import { imageUrl, webImages } from './image-url.js';
import { isUnfilled } from './placeholder.js';
import { OF_CHARSET, type PushFields, printableName, urlFields } from './push-fields.js';
import { bodySchema, isTooLarge, type PushLimits, type QueryFields, querySchema } from './push-schema.js';
import { type RawValue, rawMembers } from './rawjson.js';
import type { TrackType } from './record.js';
import { cleanText, cleanWithin, decodeUtf8, utf8Bytes } from './text.js';
import { inZone, plusBefore } from './time.js';
import { readEntities } from './title.js';
import { plusOfZone, readZone } from './zone.js';

export type { PushLimits } from './push-schema.js';

/** The fields sent; absent if left out, or empty with a default. */
export interface PushInput {
  readonly type: TrackType;
  /** `""`: deliberately none. */
  readonly artist: string;
  readonly song: string;
  readonly id?: string;
  readonly separator?: string;
  /** Whole seconds, 0 = no known end. */
  readonly durationSeconds?: number;
  /** Unix seconds to the millisecond, years 0000 to 9999. */
  readonly timeSeconds?: number;
  readonly etype?: number;
  readonly isrc?: string;
  readonly cover?: string;
  readonly album?: string;
  readonly timezone?: string;
  /** JSON text of an object exactly as pushed, white space outside strings apart. */
  readonly images?: string;
  readonly extdata?: string;
}

/** A push with its ignored fields. */
export interface ReadPush {
  readonly input: PushInput;
  /** Names in lower case: unknown parameters, unfilled placeholders, invalid `timezone`, `encoding`, `time`, `duration`, covers and images. */
  readonly ignored: readonly string[];
}

/** Cached, since making a schema costs far more than using it. */
const schemas = new WeakMap<
  PushLimits,
  { query: ReturnType<typeof querySchema>; body: ReturnType<typeof bodySchema> }
>();

function schemasFor(limits: PushLimits) {
  let made = schemas.get(limits);
  if (made === undefined) schemas.set(limits, (made = { query: querySchema(limits), body: bodySchema(limits) }));
  return made;
}

/** A push by GET. @param rawQuery the text after `?`, undecoded; `""` when there is none @throws as parsePushFields */
export function parsePushQuery(rawQuery: string, limits: PushLimits): ReadPush {
  return parsePushFields(urlFields(rawQuery, limits.parameters), limits);
}

/**
 * A push as parameters, by GET or as a form. Without any it is an empty now, which clears the title.
 * @throws Refusal bad-request (not UTF-8), too-large, invalid
 */
export function parsePushFields(pushed: PushFields, limits: PushLimits): ReadPush {
  const { query } = schemasFor(limits);
  const bad: BadField[] = [];
  const ignored: string[] = [];
  const values: Record<string, string> = {};
  const { data: encoding = 'utf8' } = query.shape.encoding.safeParse(pushed.get('encoding')?.(decodeUtf8));
  const decodeText = isUtf8Name(encoding) ? decodeUtf8 : (bytes: Buffer) => decodeCharset(bytes, encoding);
  for (const [name, read] of pushed) {
    const field = name === 'title' ? 'song' : name;
    if (!Object.hasOwn(query.shape, field)) {
      ignored.push(printableName(name));
      continue;
    }
    // `song` overrides `title`.
    if (field !== name && pushed.has(field)) continue;
    const text = read(ENCODED_FIELDS.has(field) ? decodeText : decodeUtf8);
    const isForeign = pushed.has(`${name}${OF_CHARSET}`);
    if (text === null) bad.push({ field, message: isForeign ? FOREIGN : NOT_UTF8, kind: 'bad-request' });
    else values[field] = text;
  }
  if (ignored.length > 0 && !['song', 'title', 'artist'].some((name) => pushed.has(name))) {
    for (const field of ignored) bad.push({ field, message: UNKNOWN, kind: 'invalid' });
  }
  const isStrict = values['strict'] === '1';
  const foreign = isStrict ? ignored.filter((name) => name.endsWith(OF_CHARSET)) : [];
  bad.push(...foreign.map((field): BadField => ({ field, message: 'is unknown', kind: 'invalid' })));
  const unfilled = Object.keys(values).filter((field) => isUnfilled(values[field]!));
  for (const field of unfilled) delete values[field];
  ignored.push(...unfilled);
  if (isStrict || isNothingLeft(unfilled, values)) bad.push(...unfilled.map(unfilledField));
  // Literal `false`: this part is absent; a title with neither part would be empty by mistake (src/metadata/README.md, "Push fields").
  const noSong = values['song'] === 'false';
  const noArtist = values['artist'] === 'false';
  if (noSong) values['song'] = '';
  if (noArtist) values['artist'] = '';
  if (noSong && noArtist) {
    for (const field of ['song', 'artist'])
      bad.push({ field, message: 'song and artist cannot both be false', kind: 'invalid' });
  }
  if (values['timezone'] !== undefined) values['timezone'] = plusOfZone(values['timezone']);
  if (values['time'] !== undefined) values['time'] = withZone(plusBefore(values['time'].trim()), values['timezone']);
  const parsed = parseWithout(query, values, isStrict ? [] : LESS_THAN_A_TITLE, ignored);
  bad.push(...badFields(parsed));
  if (bad.length > 0 || !parsed.success) throw refusalOf(bad);
  const fields = parsed.data;
  const input = given<PushInput>({
    ...shared(fields),
    artist: fields.artist ?? '',
    song: fields.song ?? '',
    durationSeconds: fields.duration,
  });
  return { input, ignored };
}

/** Only these fields are in the charset of `encoding` (src/metadata/README.md, "Charsets"). */
const ENCODED_FIELDS: ReadonlySet<string> = new Set(['song', 'artist', 'separator', 'seperator']);
const NOT_UTF8 =
  'is not UTF-8; for ISO 8859-1 or Windows-1252 use encoding=windows, else encoding= and the name of its charset';
const FOREIGN = 'names an unknown charset, and the value is not UTF-8';
const UNKNOWN = 'is unknown, and both song and artist are missing';
/** Fields filled in by templates: if they are invalid the title is still accepted. */
const LESS_THAN_A_TITLE = ['encoding', 'timezone', 'time', 'duration'];

/** Parses the values; invalid ones of the `lesser` fields are removed, and named in `ignored`. */
function parseWithout<T extends z.ZodType>(
  schema: T,
  values: Record<string, unknown>,
  lesser: readonly string[],
  ignored: string[],
): z.ZodSafeParseResult<z.output<T>> {
  const parsed = schema.safeParse(values);
  const isWrong = (field: string) =>
    parsed.error?.issues.some((issue) => issue.path[0] === field && issue.code === 'custom' && !isTooLarge(issue)) ===
    true;
  const wrong = lesser.filter(isWrong);
  if (wrong.length === 0) return parsed;
  ignored.push(...wrong);
  for (const field of wrong) delete values[field];
  return schema.safeParse(values);
}

/** Whether nothing of the title is left without placeholders, so that the push would clear the title by mistake. */
function isNothingLeft(unfilled: readonly string[], { song, artist }: { song?: unknown; artist?: unknown }): boolean {
  return unfilled.some((field) => field === 'song' || field === 'artist') && isNone(song) && isNone(artist);
}

function isNone(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    (typeof value === 'string' && (value === 'false' || cleanText(value) === ''))
  );
}

function unfilledField(field: string): BadField {
  return { field, message: 'is a placeholder that was not filled in', kind: 'invalid' };
}

/**
 * The body of a POST push. Its size and content type have been checked.
 * @throws Refusal bad-request (not UTF-8, broken JSON), too-large, invalid
 */
export function parsePushBody(body: Buffer, limits: PushLimits): ReadPush {
  const decoded = decodeUtf8(body);
  if (decoded === null) {
    throw new Refusal('bad-request', 'The body is not UTF-8, which JSON must be (encoding=windows is for GET only)');
  }
  const json = decoded.replace(/^\ufeff/, ''); // some Windows software writes a byte order mark
  const { values, unfilled } = withoutPlaceholders(parseObject(json));
  const ignored = [...unfilled];
  const parsed = parseWithout(schemasFor(limits).body, values, ['timezone'], ignored);
  const bad = badFields(parsed);
  if (isNothingLeft(unfilled, values)) bad.push(...unfilled.map(unfilledField));
  const raw = rawMembers(json);
  for (const field of ['images', 'extdata'] as const) bad.push(...oversize(field, raw.get(field), limits));
  if (bad.length > 0 || !parsed.success) throw refusalOf(bad);
  const fields = parsed.data;
  const images = fields.images ? raw.get('images')?.text : undefined;
  // An invalid image does not invalidate the title.
  const cover = fields.cover?.trim() || undefined;
  const isOtherCover = cover !== undefined && cover !== imageUrl(cover);
  if (isOtherCover) ignored.push('cover');
  const input = given<PushInput>({
    ...shared(fields),
    artist: fields.artist,
    song: fields.song,
    durationSeconds: fields.duration,
    cover: isOtherCover ? undefined : cover,
    album: fields.album || undefined,
    images: images && webImages(images, (name) => ignored.push(printableName(`images.${name}`))),
    extdata: fields.extdata ? raw.get('extdata')?.text : undefined,
  });
  return { input, ignored };
}

/**
 * A copy with placeholders replaced by "", and a time with the offset of the time zone.
 */
function withoutPlaceholders(members: Readonly<Record<string, unknown>>) {
  const values: Record<string, unknown> = { ...members };
  const unfilled = TEXT_MEMBERS.filter((name) => typeof values[name] === 'string' && isUnfilled(values[name]));
  for (const name of unfilled) values[name] = '';
  const { time, timezone } = values;
  if (typeof time === 'string' && typeof timezone === 'string') values['time'] = withZone(time.trim(), timezone);
  return { values, unfilled };
}

const TEXT_MEMBERS = 'song artist album id isrc separator seperator cover timezone etype tracktype'.split(' ');

function withZone(time: string, timezone = ''): string {
  const zone = readZone(cleanText(timezone));
  return zone === null ? time : inZone(time, zone);
}

/**
 * The push with HTML entities in its texts decoded once: some playout systems write `Rock &amp; Roll`. A text that is too long to be passed on then
 * (NFC makes three characters of some) stays as it is.
 */
export function withoutEntities(input: PushInput): PushInput {
  const { artist, song, album } = input;
  const decoded = (text: string) => cleanWithin(readEntities(text), MAX_PUSH.textBytes) ?? text;
  const read = { ...input, artist: decoded(artist), song: decoded(song) };
  return album === undefined ? read : { ...read, album: decoded(album) };
}

function parseObject(json: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new Refusal('bad-request', `The body is not JSON: ${cleanText((error as Error).message)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new Refusal('invalid', 'The body must be a JSON object');
}

/** Limits of members that are passed on unchanged. The size of images is bounded by the body and their URLs. */
function* oversize(field: 'images' | 'extdata', raw: RawValue | undefined, limits: PushLimits): Generator<BadField> {
  if (raw === undefined) return;
  if (field === 'extdata' && utf8Bytes(raw.text) > limits.extdataBytes) {
    yield { field, message: `must be at most ${limits.extdataBytes} bytes long`, kind: 'too-large' };
  }
  if (raw.depth > limits.extdataDepth) {
    yield { field, message: `must be at most ${limits.extdataDepth} levels deep`, kind: 'too-large' };
  }
}

type SharedFields = 'tracktype' | 'id' | 'separator' | 'seperator' | 'time' | 'etype' | 'isrc' | 'timezone';

/** The members that GET and POST share. A text that is empty after cleaning has its default. */
function shared(fields: Pick<QueryFields, SharedFields>) {
  return {
    type: fields.tracktype ?? 'now',
    id: fields.id || undefined,
    separator: fields.separator || fields.seperator || undefined,
    timeSeconds: fields.time,
    etype: fields.etype,
    isrc: fields.isrc || undefined,
    timezone: fields.timezone || undefined,
  };
}

/** Leaves out what is undefined. */
function given<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
