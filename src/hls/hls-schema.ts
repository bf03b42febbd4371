/** The schemas of windows that come from other processes or from files: whatever those contain, playlists and tags stay well-formed. */

import * as z from 'zod';
import { bytes } from '../metadata/codec.js';
import { CheckError, counted, type Is, MAX_MOMENT_MS, moment, must, type Plain } from '../metadata/record-schema.js';
import { clean, type HlsTitle } from './hls-title.js';
import type { HlsSegment } from './playlist.js';

/** The longest segment: the largest TARGETDURATION, and what rounding adds. */
const MAX_MICROS = 11_000_000;
/** The limit of numbers in files, from which counting continues: far above any clock. */
export const MAX_KEPT = 2 ** 40;
/** The limit of media sequence numbers of other processes, which are saved here: what can be reached by counting from the highest in a file. */
export const MAX_SEQUENCE = MAX_KEPT + 2 ** 32;
/** The limit of EXT-X-DISCONTINUITY-SEQUENCE in files: hls.js does not start with a higher one (README.md). */
const MAX_KEPT_DISCONTINUITIES = 2 ** 30;
/** Limits of the samples since a discontinuity (a century at 192 kHz), and of the corrections to their time. */
const [MAX_SAMPLES, MAX_CORRECTED_MS] = [2 ** 50, 2 ** 32];
const [MAX_TAPE_NAME, MAX_FORMAT] = [256, 64];
/** The most segments of a window in any configuration, and the most titles (window.ts). */
const [MAX_SEGMENTS, MAX_TITLES] = [240, 256];
/** Seven times the largest initialization section of any codec (mp4-track.ts). */
export const MAX_INIT_BYTES = 4096;
/** The limit of a segment's bytes, its tag included (cutter.ts). */
export const MAX_SEGMENT_BYTES = 5 * 1024 * 1024;
/** The limit of window.json, above what the most segments and titles can need. */
export const MAX_INDEX_BYTES = 4 * 1024 * 1024;
const MAX_CRC = 2 ** 32 - 1;

/** A segment's file: `{number}-{16 hex}.{kind}` */
export const SEGMENT_NAME = /^(0|[1-9]\d{0,14})-[0-9a-f]{16}\.(?:mp3|aac|m4s)$/;
/** The file of an initialization section. */
export const INIT_NAME = /^init-[0-9a-f]{16}\.mp4$/;

const text = z.string().transform(clean);
const sequence = z.int().min(0).max(MAX_SEQUENCE);

/** A segment without its bytes. */
export type HlsSegmentFacts = Omit<HlsSegment, 'bytes'>;

const segmentSchema = z.looseObject({
  number: sequence,
  name: z.string().regex(SEGMENT_NAME),
  init: z.looseObject({ name: z.string().regex(INIT_NAME), bytes: bytes(MAX_INIT_BYTES) }).nullable(),
  codecs: z.string().regex(/^[A-Za-z0-9.]{1,32}$/),
  startMs: moment,
  micros: z.int().min(1).max(MAX_MICROS),
  isDiscontinuity: z.boolean(),
  end: z
    .looseObject({
      tape: z.string().max(MAX_TAPE_NAME),
      atMs: moment,
      format: z.string().max(MAX_FORMAT),
      time: z.looseObject({
        startMs: moment,
        samples: z.int().min(0).max(MAX_SAMPLES),
        correctedMs: z.number().min(-MAX_CORRECTED_MS).max(MAX_CORRECTED_MS),
      }),
    })
    .nullable(),
});

export const titleSchema = z.looseObject({
  id: z.string().regex(/^[A-Za-z0-9._~-]{1,96}$/),
  title: text,
  artist: text,
  album: text,
  record: text,
  etype: counted,
  // A push has no upper bound: milliseconds by mistake are passed on too (record-schema.ts).
  durationSeconds: z.int().min(0),
  startMs: z.number().min(0).max(MAX_MOMENT_MS),
});

/** The state of a list apart from its segments and titles. */
export const listSchema = z.looseObject({
  /** TARGETDURATION, seconds. */
  targetSeconds: z.int().min(1).max(10),
  /** EXT-X-DISCONTINUITY-SEQUENCE: the number of discontinuities that have left the list. */
  discontinuitySequence: counted,
  /** The number of its first segment, or of the next one if the list is empty; 0 if there was no segment yet. */
  from: sequence,
});
export type ListState = Plain<z.output<typeof listSchema>>;

/** Returns what is saved of a window whose segments could not all be written: the next process begins another list, above its numbers. */
export function numbersOf({ savedMs, lastNumber, list, segments }: KeptWindow): KeptWindow {
  const left = segments.filter(({ number, isDiscontinuity }) => number >= list.from && isDiscontinuity).length;
  const discontinuitySequence = list.discontinuitySequence + left;
  const from = lastNumber === null ? 0 : lastNumber + 1;
  return { savedMs, lastNumber, list: { ...list, discontinuitySequence, from }, titles: [], segments: [] };
}

const keptNumber = z.int().min(0).max(MAX_KEPT);
const keptName = z
  .string()
  .regex(SEGMENT_NAME)
  .refine((name) => numberIn(name) <= MAX_KEPT, { error: 'has too high a number' });
const keptBytes = z.int().min(0).max(MAX_SEGMENT_BYTES);
const checksum = z.int().min(0).max(MAX_CRC);

/** A window as it is saved (hls-files.ts). */
export const keptSchema = z.looseObject({
  /** When it was written, Unix milliseconds. */
  savedMs: moment,
  lastNumber: keptNumber.nullable(),
  list: listSchema.extend({
    discontinuitySequence: z.int().min(0).max(MAX_KEPT_DISCONTINUITIES),
    // In an empty list this is the next segment's number.
    from: z
      .int()
      .min(0)
      .max(MAX_KEPT + 1),
  }),
  titles: z.array(titleSchema).max(MAX_TITLES),
  segments: z
    .array(
      z.looseObject({
        ...segmentSchema.shape,
        name: keptName,
        // The length of its file, bytes, and its checksum (CRC-32).
        length: keptBytes,
        crc: checksum,
        // That of its initialization section; absent in older files.
        initCrc: checksum.exactOptional(),
      }),
    )
    .max(MAX_SEGMENTS)
    .refine((segments) => segments.every(({ number }, i) => i === 0 || number > segments[i - 1]!.number), {
      error: 'are not in order',
    })
    .refine((segments) => segments.every(({ name, number }) => numberIn(name) === number), {
      error: 'have names with different numbers',
    }),
});
export type KeptWindow = Plain<z.output<typeof keptSchema>>;

/** A segment of a rewind, kept in a file. */
const rewindSegment = z.looseObject({
  // Its media sequence number in the rewind's list, which has no gaps.
  sequence: keptNumber,
  name: keptName,
  // The file of its initialization section; null if it needs none.
  init: z.string().regex(INIT_NAME).nullable(),
  // Its checksum; absent if there is none, and in older logs.
  initCrc: checksum.exactOptional(),
  startMs: moment,
  micros: z.int().min(1).max(MAX_MICROS),
  isDiscontinuity: z.boolean(),
  // The number of EXT-X-DISCONTINUITY so far, its own included.
  discontinuities: counted,
  targetSeconds: z.int().min(1).max(10),
  // The length of its file, bytes, and its checksum (CRC-32).
  length: keptBytes,
  crc: checksum,
});
export type RewindSegment = Plain<z.output<typeof rewindSegment>>;

/** A line of a rewind's log, which has one of these. `from`: the list now begins with that media sequence number. */
export const rewindSchema = z.looseObject({
  segment: rewindSegment.exactOptional(),
  title: titleSchema.exactOptional(),
  from: keptNumber.exactOptional(),
});
export type RewindLine = Plain<z.output<typeof rewindSchema>>;

/** Throws CheckError, which names the invalid member. */
export function readSegment(value: unknown): HlsSegmentFacts {
  const facts = must<HlsSegmentFacts>(segmentSchema, value);
  if (numberIn(facts.name) !== facts.number) throw new CheckError('its name has a different number');
  return facts;
}

/** Returns the number in a segment's name; NaN for any other name. */
function numberIn(name: string): number {
  return Number(SEGMENT_NAME.exec(name)?.[1]);
}

export type SegmentIsChecked = Is<HlsSegmentFacts, z.output<typeof segmentSchema>>;
export type TitleIsChecked = Is<HlsTitle, z.output<typeof titleSchema>>;
