/**
 * Schemas of the messages that offer tapes (tape-offer.ts), with the open segment and the delay line of a tape that was fed (open-segments.ts,
 * delayed-audio.ts). Members that a newer version has added are dropped.
 */

import * as z from 'zod';
import { MAX_HEADER_BYTES } from '../../audio/ogg/ogg.js';
import { MAX_PACKET_BYTES } from '../../audio/ogg/ogg-packets.js';
import { KEY } from '../../base/key.js';
import { bytes } from '../../metadata/codec.js';
import { MAX_COUNTED, moment, must } from '../../metadata/record-schema.js';
import { MAX_MARKS } from './linked-marks.js';
import { MAX_BLOCK_BYTES } from './mark-schema.js';
import { LIMITS } from './tape-messages.js';
import { MAX_FORKS } from './tape-names.js';

/** Maximum number of tapes in one offer. */
const MAX_TAPES = 100_000;
/** Maximum number of frames of an open segment, and of one piece of a delay line. */
const MAX_FRAMES = 100_000;
/** Maximum duration of an Opus packet: 120 ms (RFC 6716, section 2.1.4). */
const MAX_OPUS_SAMPLES = 5760;
const MAX_FRAME_MS = 60_000;
/** Maximum number of a mark: the next hub continues counting from there. */
export const MAX_LAST_MARK = 2 ** 30;

const channel = z.string().regex(KEY);
const counted = z.int().min(0).max(MAX_COUNTED);
const audioMs = z
  .number()
  .min(0)
  .max(2 ** 52);
const name = z.string().max(LIMITS.nameBytes);
const order = z.int().min(0).max(MAX_LAST_MARK);

const tapeName = z.object({
  hub: name,
  number: counted,
  forks: z
    .array(z.object({ seq: counted, by: name }))
    .max(MAX_FORKS)
    .readonly(),
});

const tape = z.object({
  channel,
  name: tapeName,
  /** Number after the last segment, and audio time at the end of the tape. */
  head: counted,
  endMs: audioMs,
  /** The highest number of a mark on it. */
  lastMark: order,
  /** Number of listeners that play it there. */
  playing: z.int().min(0).max(LIMITS.listeners),
});

/** All tapes of a process; `lastMark` is the highest number of a mark there. Places as in `open`, of channels without a tape; absent: none. */
const offers = z.object({
  type: z.literal('offers'),
  tapes: z.array(tape).max(MAX_TAPES),
  lastMark: order,
  positions: z
    .array(z.object({ channel, position: z.unknown() }))
    .max(MAX_TAPES)
    .readonly()
    .optional(),
});

/** Its record is checked together with its block (mark-schema.ts). */
const mark = z.object({
  order: order.min(1),
  record: z.unknown(),
  channel: z.unknown(),
  tags: z.unknown(),
  blockNumber: counted,
  block: bytes(MAX_BLOCK_BYTES),
});
const marks = z.array(mark).max(MAX_MARKS);

const openFrames = z.object({
  audio: bytes(LIMITS.segmentBytes),
  endMs: audioMs,
  entry: z.int().min(-1).max(LIMITS.segmentBytes),
  entryMs: audioMs,
  /** By their numbers; 0: none. */
  before: order,
  repeats: order,
  /** All marks that are referred to. */
  marks,
  markPositions: z.array(z.object({ order, atMs: z.number(), atByte: counted, blockByte: counted })).max(MAX_MARKS),
});

const openOgg = z.object({
  recent: z
    .array(z.object({ packet: bytes(MAX_PACKET_BYTES), samples: z.int().min(0).max(MAX_OPUS_SAMPLES) }))
    .max(MAX_FRAMES)
    .readonly(),
  ahead: z.array(z.object({ order, atMs: z.number() })).max(MAX_MARKS),
  marks,
});

const openSegment = z.union([openOgg, openFrames]);

/**
 * The open segment of a tape that is offered next, from the hub that has fed it: checked by `readOpen`, as a fault is one channel's. The place: see
 * channel/channel-position-schema.ts; null: none.
 */
const open = z.object({ type: z.literal('open'), channel, open: z.unknown(), position: z.unknown() });

const position = z.object({ atMs: audioMs, atByte: z.int().min(0) });

/** One of several pieces of a delay line, in order. The first has all other members; each has some of the frames. */
const delayedAudio = z.object({
  /** Unix milliseconds, as all times here; null: no audio yet. */
  playedMs: moment.nullable(),
  titles: z
    .array(z.object({ record: z.unknown(), channel: z.unknown(), momentMs: moment, position: position.nullable() }))
    .max(MAX_MARKS),
  /** The header packets of an Ogg link. */
  links: z.array(z.array(bytes(MAX_HEADER_BYTES)).min(2).max(16)).max(MAX_MARKS),
  frames: z
    .array(
      z.object({
        bytes: bytes(MAX_PACKET_BYTES).refine(({ length }) => length > 0),
        durationMs: z.number().min(0).max(MAX_FRAME_MS),
        bitrateKbps: z.number().min(0).max(LIMITS.bitrateKbps),
        fresh: z.boolean(),
        /** Index of its link; -1: not Ogg. */
        link: z.int().min(-1).max(MAX_MARKS),
        /** Set on the first frame of another source. */
        source: z.object({}).nullable(),
        arrivedMs: moment,
      }),
    )
    .max(MAX_FRAMES),
});

/** Follows `open` if the channel has a delay: checked by `readDelayed`. */
const delayed = z.object({ type: z.literal('delayed'), channel, delayed: z.unknown() });

const messages = z.discriminatedUnion('type', [offers, open, delayed]);

export type PlainMark = z.output<typeof mark>;
export type PlainOpenSegment = z.output<typeof openSegment>;
export type PlainDelayedAudio = z.output<typeof delayedAudio>;
export type TapeOffer = z.output<typeof tape>;
export type OfferMessage = z.output<typeof messages>;

/** @throws CheckError that names the member */
export function readOffer(value: unknown): OfferMessage {
  return must<OfferMessage>(messages, value);
}

/** @throws CheckError that names the member */
export function readOpen(value: unknown): PlainOpenSegment {
  return must<PlainOpenSegment>(openSegment, value);
}

/** @throws CheckError that names the member */
export function readDelayed(value: unknown): PlainDelayedAudio {
  return must<PlainDelayedAudio>(delayedAudio, value);
}
