/**
 * A push as it came over HTTP, parsed into a typed value; the only place where that happens. All code behind it trusts
 * the result: texts are NFC without controls, numbers whole and in range, times such that RFC 3339 can write them.
 *
 * A push is refused whole, and the refusal names every bad field at once. The rules: src/metadata/README.md, "Push fields".
 */

import { type FieldError, Refusal } from '../base/refusal.js';
import { imageUrl, webImages } from './image-url.js';
import { type PushFields, printableName, urlFields } from './push-fields.js';
import {
  bodySchema,
  isTooLarge,
  type PushIssues,
  type PushLimits,
  type QueryFields,
  querySchema,
} from './push-schema.js';
import { type RawValue, rawMembers } from './rawjson.js';
import type { TrackType } from './record.js';
import { cleanText, decodeUtf8, decodeWindows, utf8Bytes } from './text.js';
import { inZone, plusBefore } from './time.js';
import { readEntities } from './title.js';

export type { PushLimits } from './push-schema.js';

/** What was sent; members that were left out, or left empty where there is a default, are absent. */
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

/** A push, and what was not taken of it. */
export interface ReadPush {
  readonly input: PushInput;
  /** Names in lower case: unknown parameters, a `time` or `duration` that cannot be read, and in JSON a cover or image that is not a web URL. */
  readonly ignored: readonly string[];
}

interface BadField extends FieldError {
  readonly kind: 'bad-request' | 'too-large' | 'invalid';
}

/** Making a schema costs far more than using it; a server has one set of limits. */
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
  const isWindows = query.shape.encoding.safeParse(pushed.get('encoding')?.(decodeUtf8)).data === 'windows';
  for (const [name, read] of pushed) {
    const field = name === 'title' ? 'song' : name;
    if (!Object.hasOwn(query.shape, field)) {
      ignored.push(printableName(name));
      continue;
    }
    // Its own name counts more than the other one.
    if (field !== name && pushed.has(field)) continue;
    const text = read(isWindows && WINDOWS_FIELDS.has(field) ? decodeWindows : decodeUtf8);
    if (text === null) bad.push({ field, message: NOT_UTF8, kind: 'bad-request' });
    else values[field] = text;
  }
  if (ignored.length > 0 && !['song', 'title', 'artist'].some((name) => pushed.has(name))) {
    for (const field of ignored) bad.push({ field, message: UNKNOWN, kind: 'invalid' });
  }
  // Literal `false`: this part is absent; a title with neither part would be empty by mistake (src/metadata/README.md, "Push fields").
  const noSong = values['song'] === 'false';
  const noArtist = values['artist'] === 'false';
  if (noSong) values['song'] = '';
  if (noArtist) values['artist'] = '';
  if (noSong && noArtist) {
    for (const field of ['song', 'artist'])
      bad.push({ field, message: 'song and artist cannot both be false', kind: 'invalid' });
  }
  if (values['time'] !== undefined)
    values['time'] = inZone(plusBefore(values['time'].trim()), values['timezone'] ?? '');
  let parsed = query.safeParse(values);
  for (const field of values['strict'] === '1' ? [] : LESS_THAN_A_TITLE) {
    if (!parsed.error?.issues.some(({ path }) => path[0] === field)) continue;
    ignored.push(field);
    delete values[field];
    parsed = query.safeParse(values);
  }
  bad.push(...badFields(parsed));
  if (bad.length > 0 || !parsed.success) throw refusal(bad);
  const fields = parsed.data;
  const input = given<PushInput>({
    ...shared(fields),
    artist: fields.artist ?? '',
    song: fields.song ?? '',
    durationSeconds: fields.duration,
  });
  return { input, ignored };
}

/** Only these are written in the encoding that the sender names (src/metadata/README.md, "Charsets"). */
const WINDOWS_FIELDS: ReadonlySet<string> = new Set(['song', 'artist', 'separator', 'seperator']);
const NOT_UTF8 = 'is not UTF-8; if it is ISO 8859-1 or Windows-1252, say encoding=windows';
const UNKNOWN = 'is unknown, and there is neither song nor artist';
/** A template fills them in, and nobody reads the answer: a title is not lost with them. */
const LESS_THAN_A_TITLE = ['time', 'duration'] as const;

/**
 * The body of a POST push. Its size and content type have been checked.
 * @throws Refusal bad-request (not UTF-8, broken JSON), too-large, invalid
 */
export function parsePushBody(body: Buffer, limits: PushLimits): ReadPush {
  const decoded = decodeUtf8(body);
  if (decoded === null) {
    throw new Refusal('bad-request', 'The body is not UTF-8, as JSON has to be (encoding=windows is for GET only)');
  }
  const json = decoded.replace(/^\ufeff/, ''); // some Windows software writes a byte order mark
  const parsed = schemasFor(limits).body.safeParse(inItsZone(parseObject(json)));
  const bad = badFields(parsed);
  const raw = rawMembers(json);
  for (const field of ['images', 'extdata'] as const) bad.push(...oversize(field, raw.get(field), limits));
  if (bad.length > 0 || !parsed.success) throw refusal(bad);
  const fields = parsed.data;
  const ignored: string[] = [];
  const images = fields.images ? raw.get('images')?.text : undefined;
  // A bad picture does not cost the title.
  const cover = fields.cover?.trim();
  const isOtherCover = cover !== undefined && cover !== imageUrl(cover);
  if (isOtherCover) ignored.push('cover');
  const input = given<PushInput>({
    ...shared(fields),
    artist: fields.artist,
    song: fields.song,
    durationSeconds: fields.duration,
    cover: isOtherCover ? undefined : cover,
    album: fields.album ?? undefined,
    images: images && webImages(images, (name) => ignored.push(printableName(`images.${name}`))),
    extdata: fields.extdata ? raw.get('extdata')?.text : undefined,
  });
  return { input, ignored };
}

/** A copy whose time has an offset, where it has a time zone. */
function inItsZone(members: Readonly<Record<string, unknown>>): object {
  const { time, timezone } = members;
  if (typeof time !== 'string' || typeof timezone !== 'string') return members;
  return { ...members, time: inZone(time.trim(), timezone) };
}

/** The same push with the entities of HTML in its texts decoded once: some playout systems write `Rock &amp; Roll`. */
export function withoutEntities(input: PushInput): PushInput {
  const { artist, song, album } = input;
  const read = { ...input, artist: readEntities(artist), song: readEntities(song) };
  return album === undefined ? read : { ...read, album: readEntities(album) };
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
  throw new Refusal('invalid', 'The body has to be a JSON object');
}

/** What is passed on untouched is measured as it is kept. Images are bounded by the body and their urls; but readers must not drown in depth. */
function* oversize(field: 'images' | 'extdata', raw: RawValue | undefined, limits: PushLimits): Generator<BadField> {
  if (raw === undefined) return;
  if (field === 'extdata' && utf8Bytes(raw.text) > limits.extdataBytes) {
    yield { field, message: `has to be at most ${limits.extdataBytes} bytes long`, kind: 'too-large' };
  }
  if (raw.depth > limits.extdataDepth) {
    yield { field, message: `has to be at most ${limits.extdataDepth} levels deep`, kind: 'too-large' };
  }
}

type SharedFields = 'tracktype' | 'id' | 'separator' | 'seperator' | 'time' | 'etype' | 'isrc' | 'timezone';

/** The members that GET and POST share. What cleaning has emptied is as good as not given where there is a default. */
function shared(fields: Pick<QueryFields, SharedFields>) {
  return {
    type: fields.tracktype ?? 'now',
    id: fields.id || undefined,
    separator: fields.separator || fields.seperator || undefined,
    timeSeconds: fields.time,
    etype: fields.etype,
    isrc: fields.isrc ?? undefined,
    timezone: fields.timezone || undefined,
  };
}

function badFields(parsed: PushIssues): BadField[] {
  const issues = parsed.error?.issues ?? [];
  return issues.map((issue) => ({
    field: issue.path.join('.'),
    message: issue.message,
    kind: isTooLarge(issue) ? 'too-large' : 'invalid',
  }));
}

/** Unreadable outweighs too large outweighs invalid; every bad field is named whatever its kind. */
function refusal(bad: readonly BadField[]): Refusal {
  const kind = (['bad-request', 'too-large', 'invalid'] as const).find((kind) => bad.some((one) => one.kind === kind))!;
  const names = [...new Set(bad.map(({ field }) => field))].join(', ');
  const errors = bad.map(({ field, message }) => ({ field, message }));
  return new Refusal(kind, `Nothing was applied; look at: ${names}`, { errors });
}

/** Leaves out what is undefined. */
function given<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
