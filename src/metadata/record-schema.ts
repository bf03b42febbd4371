/**
 * Checks records from another process, machine, file or version, which may be faulty or hostile. The result is as if it had been pushed here: clean
 * texts, whole numbers in range, valid JSON. The limits are the highest of any configuration, so that no node refuses records that another has
 * accepted. Members that a newer version has added are kept. A cover that is not a web URL, as older versions allowed, is removed.
 */

import * as z from 'zod';
import { FIRST_PLAUSIBLE_MS } from '../base/steady-time.js';
import { MAX_PUSH } from '../config/push-limits.js';
import { imageUrl, webImages } from './image-url.js';
import type { PushInput } from './push-input.js';
import { cleaned, cleanedCharacters, imagesSchema } from './push-schema.js';
import { rawMembers } from './rawjson.js';
import type { TrackRecord } from './record.js';
import { oneLine, utf8Bytes } from './text.js';
import { FIRST_SECONDS, isZone, LAST_SECONDS } from './time.js';
import type { ChannelFace } from './view.js';

/** Limit of numbers from another process that are counted on from: marks, segments. At one each second they last for 68 years. */
export const MAX_COUNTED = 2 ** 31 - 1;
/** Limit of a channel's version, which must be counted on from exactly: half of the exact integers. */
const MAX_VERSION = 2 ** 52;
/** 9999-12-31T23:59:59.999Z, unix milliseconds: limit of moments, and of stamps, which are close to the clock (feed/sequence.ts). */
export const MAX_MOMENT_MS = LAST_SECONDS * 1000 + 999;
/**
 * Numbers of other machines from which we count on must leave room, as one at the limit would make all later ones invalid. Moments and stamps may
 * be this far ahead of the clock, which rises faster than they do.
 */
const CENTURY_MS = 100 * 365 * 86_400_000;
/** Versions may be this high (34 years at one each millisecond), or this far above the known one. */
const [MAX_SAID_VERSION, MAX_VERSIONS_MISSED] = [2 ** 40, 2 ** 20];
/** Limit of keys of channels and stations, in bytes of UTF-8: more than any configuration has. */
const MAX_NAME_BYTES = 4096;

/** `bad`: the fault, with the member's name; null: none. */
export type Checked<T> = { readonly value: T; readonly bad: null } | { readonly value: null; readonly bad: string };

/** The version of a channel's record. */
export const version = z.int().min(0).max(MAX_VERSION);
/** A count, or another small number. */
export const counted = z.int().min(0).max(MAX_COUNTED);
/** The id by which a held push is requested; no record has a longer one. */
export const heldId = z.string().max(MAX_PUSH.textBytes);
/** The place of a record among all records. */
export const stamp = z.int().min(0).max(MAX_MOMENT_MS);
/** Unix milliseconds. */
export const moment = z.number().min(0).max(MAX_MOMENT_MS);
/** The distance between two clocks, or a moment of a clock that is not the wall clock: milliseconds, of either sign. */
export const signedMs = z.number().min(-MAX_MOMENT_MS).max(MAX_MOMENT_MS);

/** The latest moment or stamp that is accepted from another machine. @param nowMs of the same clock */
export function maxMomentMs(nowMs: number): number {
  return Math.max(nowMs, FIRST_PLAUSIBLE_MS) + CENTURY_MS;
}

/** The same for versions. @param known the channel's version here */
export function maxVersion(known: number): number {
  return Math.max(MAX_SAID_VERSION, known + MAX_VERSIONS_MISSED);
}

const text = cleaned(MAX_PUSH.textBytes);
export const seconds = z
  .number()
  .min(FIRST_SECONDS)
  .max(LAST_SECONDS + 1);
const name = cleaned(MAX_NAME_BYTES);

/** JSON of an object in one line, without white space. */
function jsonObject(members: z.ZodType) {
  return z.string().transform((json, context) => {
    const bad = (message: string) => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    if (utf8Bytes(json) > MAX_PUSH.extdataBytes) return bad('is too long');
    let value: unknown;
    try {
      value = JSON.parse(json);
    } catch {
      return bad('is not JSON');
    }
    if (!members.safeParse(value).success) return bad('is not a valid object');
    const raw = rawMembers(`{"":${json}}`).get('')!;
    return raw.depth > MAX_PUSH.extdataDepth ? bad('is too deep') : raw.text;
  });
}

const images = jsonObject(imagesSchema(MAX_PUSH.urlBytes)).transform((json) => webImages(json));
const extdata = jsonObject(z.looseObject({}));

const track = {
  id: text,
  madeId: text.exactOptional(),
  type: z.enum(['now', 'next']),
  artist: text,
  song: text,
  separator: cleaned(MAX_PUSH.textBytes, oneLine),
  durationSeconds: z.int().min(0),
  etype: counted,
  isrc: text,
  cover: cleaned(MAX_PUSH.urlBytes).transform(imageUrl),
  album: text,
  timezone: cleanedCharacters(MAX_PUSH.timezoneCharacters),
  images: images.nullable(),
  extdata: extdata.nullable(),
  source: z.enum(['metapush', 'encoder', 'upstream', 'fallback']),
  saidBy: text.exactOptional(),
  startSeconds: seconds,
};

export const trackSchema = z.looseObject(track);

/** A push that another process has read (push-input.ts). */
export const pushSchema = z.looseObject({
  type: track.type,
  artist: text,
  song: text,
  id: text.exactOptional(),
  separator: track.separator.exactOptional(),
  durationSeconds: track.durationSeconds.exactOptional(),
  timeSeconds: seconds.exactOptional(),
  etype: track.etype.exactOptional(),
  isrc: text.exactOptional(),
  cover: track.cover.exactOptional(),
  album: text.exactOptional(),
  timezone: track.timezone.exactOptional(),
  images: images.exactOptional(),
  extdata: extdata.exactOptional(),
});

export const recordSchema = z.looseObject({
  ...track,
  channel: name,
  version,
  effectAtMs: moment,
  stamp: stamp.exactOptional(),
});

/** A record and the face of its channel, as sent with a mark. */
export const viewSchema = z.looseObject({
  record: recordSchema,
  channel: z.looseObject({
    key: name,
    name: cleaned(MAX_PUSH.textBytes),
    station: name,
    timezone: z.string().refine(isZone, { error: 'is not a time zone' }),
  }),
});

/** @returns the parsed value, or the first fault */
export function check<T>(schema: z.ZodType<T>, value: unknown): Checked<T> {
  const { data, error } = schema.safeParse(value);
  return error === undefined ? { value: data as T, bad: null } : { value: null, bad: firstIssue(error) };
}

/** @throws CheckError with the first fault */
export function must<T>(schema: z.ZodType<T>, value: unknown): T {
  const { value: read, bad } = check<T>(schema, value);
  if (bad !== null) throw new CheckError(bad);
  return read;
}

/** Data from another process, machine, file or version is not valid; the message names the member. */
export class CheckError extends Error {
  override readonly name = 'CheckError';
}

/** Without the bad value: it may be long, or a secret. */
function firstIssue({ issues }: z.ZodError): string {
  const { path, message } = issues[0]!;
  return `${path.join('.') || 'it'}: ${message}`;
}

/** What a schema reads, as plain data to be read only. Unknown members, which a loose object passes on, are not part of the type. */
export type Plain<T> = T extends Uint8Array
  ? T
  : T extends readonly unknown[]
    ? { readonly [K in keyof T]: Plain<T[K]> }
    : T extends object
      ? { readonly [K in keyof T as unknown extends T[K] ? (string extends K ? never : K) : K]: Plain<T[K]> }
      : T;

/** The compiler compares the schemas with the types. */
export type Is<_Wanted, _Found extends _Wanted> = true;
export type RecordIsChecked = Is<TrackRecord, z.output<typeof recordSchema>>;
export type PushIsChecked = Is<PushInput, z.output<typeof pushSchema>>;
export type FaceIsChecked = Is<ChannelFace, z.output<typeof viewSchema>['channel']>;
