/** What a process says of the tapes that it offers (tape-offer.ts): checked before it is used. */

import { z } from 'zod';
import { base64 } from '../../audio/frames/framer-schema.js';
import { MAX_HEADER_BYTES, MAX_PACKET_BYTES } from '../../audio/ogg/ogg.js';
import { KEY } from '../../base/key.js';
import { check, type Is, MAX_COUNTED, moment } from '../../metadata/record-schema.js';
import { WireError } from '../wire/wire.js';
import { MAX_MARKS } from './linked-marks.js';
import { MAX_BLOCK_BYTES } from './mark-schema.js';
import { LIMITS } from './tape-messages.js';
import { MAX_FORKS } from './tape-names.js';
import type { OfferMessage } from './tape-offer.js';

/** In one offer: a hub has no more channels. */
const MAX_TAPES = 100_000;
/** Of an open segment, and of what waits in a delay line. */
const MAX_FRAMES = 100_000;
/** Of a packet of Opus: 120 ms (RFC 6716, section 2.1.4). */
const MAX_OPUS_SAMPLES = 5760;
const MAX_FRAME_MS = 60_000;
/** Marks of the hub that takes the tapes go on counting behind the last one of them. */
export const MAX_LAST_MARK = 2 ** 30;

const channel = z.string().regex(KEY);
const counted = z.int().min(0).max(MAX_COUNTED);
const audioMs = z
  .number()
  .min(0)
  .max(2 ** 52);
const name = z.string().max(LIMITS.nameBytes);
const order = z.int().min(0).max(MAX_LAST_MARK);

const tapeName = z.looseObject({
  hub: name,
  number: counted,
  forks: z.array(z.looseObject({ seq: counted, by: name })).max(MAX_FORKS),
});

const offers = z.looseObject({
  type: z.literal('offers'),
  tapes: z
    .array(
      z.looseObject({
        channel,
        name: tapeName,
        head: counted,
        endMs: audioMs,
        lastMark: order,
        playing: z.int().min(0).max(LIMITS.listeners),
      }),
    )
    .max(MAX_TAPES),
  lastMark: order,
});

/** Its record is checked together with its block (mark-schema.ts). */
const mark = z.looseObject({
  order: order.min(1),
  record: z.unknown(),
  channel: z.unknown(),
  tags: z.unknown(),
  blockNumber: counted,
  block: base64(MAX_BLOCK_BYTES),
});
const marks = z.array(mark).max(MAX_MARKS);

const openFrames = z.looseObject({
  audio: base64(LIMITS.segmentBytes),
  endMs: audioMs,
  entry: z.int().min(-1).max(LIMITS.segmentBytes),
  entryMs: audioMs,
  before: order,
  repeats: order,
  marks,
  places: z.array(z.looseObject({ order, atMs: z.number(), atByte: counted, blockByte: counted })).max(MAX_MARKS),
});

const openOgg = z.looseObject({
  recent: z
    .array(z.looseObject({ packet: base64(MAX_PACKET_BYTES), samples: z.int().min(0).max(MAX_OPUS_SAMPLES) }))
    .max(MAX_FRAMES),
  ahead: z.array(z.looseObject({ order, atMs: z.number() })).max(MAX_MARKS),
  marks,
});

const open = z.looseObject({
  type: z.literal('open'),
  channel,
  open: z.union([openOgg, openFrames]),
  place: z.unknown(),
});

const place = z.looseObject({ atMs: audioMs, atByte: z.int().min(0) });

const delayed = z.looseObject({
  type: z.literal('delayed'),
  channel,
  delayed: z.looseObject({
    playedMs: moment.nullable(),
    titles: z
      .array(z.looseObject({ record: z.unknown(), channel: z.unknown(), momentMs: moment, place: place.nullable() }))
      .max(MAX_MARKS),
    links: z.array(z.array(base64(MAX_HEADER_BYTES)).min(2).max(16)).max(MAX_MARKS),
    frames: z
      .array(
        z.looseObject({
          bytes: base64(MAX_PACKET_BYTES).refine(({ length }) => length > 0),
          durationMs: z.number().min(0).max(MAX_FRAME_MS),
          bitrateKbps: z.number().min(0).max(LIMITS.bitrateKbps),
          fresh: z.boolean(),
          link: z.int().min(-1).max(MAX_MARKS),
          source: z.looseObject({}).nullable(),
          arrivedMs: moment,
        }),
      )
      .max(MAX_FRAMES),
  }),
});

const messages = z.discriminatedUnion('type', [offers, open, delayed]);

/** @throws WireError that names the member */
export function readOffer(value: unknown): OfferMessage {
  const { value: read, bad } = check<OfferMessage>(messages, value);
  if (bad !== null) throw new WireError(bad);
  return read;
}

/** The compiler compares it with the type. */
export type OfferIsChecked = Is<OfferMessage, z.output<typeof messages>>;
