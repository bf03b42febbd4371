/**
 * The state of a channel's sources, from the process that fed the channel before (ChannelPlace): checked before the channel resumes.
 */

import * as z from 'zod';
import { framerState } from '../audio/frames/framer-schema.js';
import { MAX_PUSH } from '../config/push-limits.js';
import { cleaned } from '../metadata/push-schema.js';
import { counted, type Is, moment, signedMs } from '../metadata/record-schema.js';
import { oneLine } from '../metadata/text.js';
import type { ChannelPosition } from './channel.js';
import { MAX_INDEX } from './channel-facts-schema.js';
import { timelineEntry } from './source-timeline.js';

/** Entries of the timeline of a channel's sources. */
const MAX_ENTRIES = 1000;

const text = cleaned(MAX_PUSH.textBytes);
/** A title that is yet to be split, or a separator. */
const line = cleaned(MAX_PUSH.textBytes, oneLine);
const index = z.int().min(-1).max(MAX_INDEX);

/** A title from a source (source/source.ts, SourceTitle). */
export const titleSchema = z.union([
  line,
  z.looseObject({
    artist: text,
    song: text,
    separator: line.exactOptional(),
    cover: cleaned(MAX_PUSH.urlBytes),
    album: text.exactOptional(),
    durationSeconds: counted.exactOptional(),
    id: text.exactOptional(),
  }),
]);

const fileSchema = z.looseObject({
  id: text,
  atByte: z.int().min(0),
  framer: framerState,
  aheadMs: signedMs,
  wallMs: moment,
  round: z.looseObject({ audioMs: z.number().min(0), titles: counted }).exactOptional(),
});

export const channelPositionSchema = z
  .looseObject({
    onAir: index,
    isPinned: z.boolean(),
    contentType: text.optional(),
    onAirSinceMs: moment.nullable(),
    lastTitle: titleSchema.optional(),
    file: fileSchema.nullable(),
    timeline: z.array(timelineEntry.loose()).max(MAX_ENTRIES),
  })
  .transform((read) => ({ ...read, contentType: read.contentType, lastTitle: read.lastTitle }));

/** The compiler compares it with the type. */
export type PositionIsChecked = Is<ChannelPosition, z.output<typeof channelPositionSchema>>;
