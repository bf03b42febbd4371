/** The state of a framer from another process (framer.ts, ogg-state.ts), checked before a framer resumes there. */

import * as z from 'zod';
import { bytes } from '../../metadata/codec.js';
import { type Is, MAX_COUNTED } from '../../metadata/record-schema.js';
import { MAX_HEADER_BYTES } from '../ogg/ogg.js';
import { MAX_PACKET_BYTES } from '../ogg/ogg-packets.js';
import { MAX_LACINGS, MAX_PAGE_BYTES } from '../ogg/ogg-page.js';
import type { FormatState } from './format.js';
import { SCRATCH_BYTES } from './framer.js';
import { MAX_PCE_BYTES } from './program-config.js';

/** A counter of 32 bits; -1: none yet. */
const number32 = z
  .int()
  .min(-1)
  .max(2 ** 32 - 1);
const length = z.int().min(0).max(MAX_COUNTED);
const ms = z.number().min(0).max(MAX_COUNTED);
/** A position in a stream, in samples; -1: none. */
const position = z
  .int()
  .min(-1)
  .max(2 ** 53 - 1);
const kbps = z.number().min(0).max(MAX_COUNTED);
const mean = z.looseObject({ bytes: length, ms, isKnown: z.boolean() });
const headers = z.array(bytes(MAX_HEADER_BYTES)).min(2).max(16);

const framesState = z.looseObject({
  format: z.literal('frames'),
  facts: z
    .looseObject({
      codec: z.enum(['mp3', 'mp2', 'aac']).optional(),
      sampleRate: z.int().min(0).max(MAX_COUNTED),
      channels: z.int().min(0).max(255),
      bitrateKbps: kbps,
    })
    .transform((facts) => ({ ...facts, codec: facts.codec })),
  kept: bytes(SCRATCH_BYTES),
  neededBytes: z.int().min(0).max(SCRATCH_BYTES),
  tagLeftBytes: length,
  tagsBytes: length,
  key: z.int(),
  atBoundary: z.boolean(),
  atFirst: z.boolean(),
  fresh: z.boolean(),
  mean,
  // Absent from earlier versions.
  pce: bytes(MAX_PCE_BYTES).default(Buffer.alloc(0)),
});

const oggState = z.looseObject({
  format: z.literal('ogg'),
  pages: z.looseObject({
    kept: bytes(MAX_PAGE_BYTES),
    neededBytes: z.int().min(0).max(MAX_PAGE_BYTES),
    // Negative once damaged pages have used it up.
    vainBytes: z.int().min(-MAX_COUNTED).max(MAX_COUNTED),
    isUnderWay: z.boolean(),
  }),
  page: z.looseObject({
    flags: z.int().min(0).max(255),
    granule: position,
    serial: number32,
    sequence: number32,
    lacings: bytes(MAX_LACINGS),
    body: bytes(MAX_PAGE_BYTES),
    lacing: z.int().min(0).max(MAX_LACINGS),
    packetAt: z.int().min(0).max(MAX_PAGE_BYTES),
    bodyAt: z.int().min(0).max(MAX_PAGE_BYTES),
    // Infinity is null in JSON.
    leftSamples: z
      .number()
      .nullable()
      .transform((left) => left ?? Number.POSITIVE_INFINITY),
    isHead: z.boolean(),
    frames: z.int(),
    skipped: z.int(),
  }),
  stream: z.looseObject({
    serial: number32,
    sequence: number32,
    granule: position,
    fresh: z.boolean(),
    isFilled: z.boolean(),
    packetMs: ms,
    pageMs: ms,
    headers: z.array(bytes(MAX_HEADER_BYTES)).max(16).nullable(),
    headerBytes: length,
  }),
  link: headers.nullable(),
  lastSize: z.int().min(0).max(65_536),
  open: z.looseObject({ piece: bytes(2 * MAX_PACKET_BYTES), bytes: length, isLost: z.boolean() }).nullable(),
  bitrateKbps: kbps,
  mean,
});

export const framerState = z.discriminatedUnion('format', [framesState, oggState]);

/** The compiler compares it with the type. */
export type FramerIsChecked = Is<FormatState, z.output<typeof framerState>>;
