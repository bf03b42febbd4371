/**
 * The facts of a channel's audio as another process or machine sends them: checked, as many become response headers. The type is that of the schema.
 */

import * as z from 'zod';
import { MAX_INDEX } from '../../channel/channel-position-schema.js';
import { MAX_PUSH } from '../../config/push-limits.js';
import { cleaned } from '../../metadata/push-schema.js';
import { type Plain, signedMs } from '../../metadata/record-schema.js';
import { LIMITS } from '../tapes/tape-messages.js';

/** The same limits as in the messages of a tape. */
const kbps = z.number().min(0).max(LIMITS.bitrateKbps);
const hertz = z.number().min(0).max(LIMITS.sampleRate);
const channels = z.int().min(0).max(LIMITS.channels);

const text = cleaned(MAX_PUSH.textBytes);
const url = cleaned(MAX_PUSH.urlBytes).refine((value) => value === '' || /^https?:\/\/[^\s<>"']+$/i.test(value));
const delayMs = z
  .number()
  .min(0)
  .max(2 * LIMITS.delayMs);
const metaint = z.int().min(1).max(LIMITS.metaint);

const sourceFacts = z.looseObject({
  name: text,
  genre: text,
  url,
  description: text,
  audioInfo: text,
  contentType: text,
  bitrateKbps: kbps,
  sampleRate: hertz,
  channels,
  public: z.boolean().optional(),
});

export const factsSchema = z.looseObject({
  contentType: text,
  sampleRate: hertz,
  channels,
  delayMs,
  onAirSinceMs: signedMs.nullable(),
  /** Since when it has been silent, milliseconds of the system's monotonic clock, which all processes share; null: there is audio. */
  silentSinceMs: signedMs.nullable(),
  /** Since when audio has been missing, likewise (channel/served.ts). */
  missingSinceMs: signedMs.nullable(),
  isSilence: z.boolean(),
  hopeful: z.boolean(),
  hasSegments: z.boolean(),
  /** Whether the switch waits for the source on air (source/switch.ts). A machine of an earlier version sends neither this nor `sends`. */
  isAwaited: z.boolean().exactOptional(),
  onAir: z.int().min(0).max(MAX_INDEX).nullable(),
  onAirType: text.nullable(),
  sends: text.nullable().exactOptional(),
  facts: sourceFacts.nullable(),
  bitrateKbps: kbps,
  delayedMs: delayMs,
  metaint: metaint.nullable(),
});

/** The state of a channel's sources, and the response headers of its audio, for processes that do not feed it. */
export type ChannelFacts = Plain<z.output<typeof factsSchema>>;
