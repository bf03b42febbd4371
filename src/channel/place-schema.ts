/** Where a channel's sources stand, as the process says it that fed the channel before (ChannelPlace): checked before one goes on there. */

import { z } from 'zod';
import { framerState } from '../audio/framer-schema.js';
import { MAX_PUSH } from '../config/push-limits.js';
import { cleaned } from '../metadata/push-schema.js';
import { counted, type Is, moment, signedMs } from '../metadata/record-schema.js';
import type { ChannelPlace } from './channel.js';

/** Of a source's timeline. */
const MAX_ENTRIES = 1000;
/** Of a channel's sources. */
const MAX_PLACE = 1000;

const text = cleaned(MAX_PUSH.textBytes);
const place = z.int().min(-1).max(MAX_PLACE);

const titleSchema = z.union([
  text,
  z.looseObject({ artist: text, song: text, separator: text.exactOptional(), cover: cleaned(MAX_PUSH.urlBytes) }),
]);

const fileSchema = z.looseObject({
  id: text,
  atByte: z.int().min(0),
  framer: framerState,
  aheadMs: signedMs,
  wallMs: moment,
});

const entrySchema = z.looseObject({
  ...{ atMs: moment, what: text, place: place.nullable(), kind: text.nullable(), reason: text },
  ...{ isOver: z.boolean(), count: counted },
});

export const placeSchema = z
  .looseObject({
    onAir: place,
    isPinned: z.boolean(),
    contentType: text.optional(),
    onAirSinceMs: moment.nullable(),
    lastTitle: titleSchema.optional(),
    file: fileSchema.nullable(),
    timeline: z.array(entrySchema).max(MAX_ENTRIES),
  })
  .transform((read) => ({ ...read, contentType: read.contentType, lastTitle: read.lastTitle }));

/** The compiler holds it against the type. */
export type PlaceIsChecked = Is<ChannelPlace, z.output<typeof placeSchema>>;
