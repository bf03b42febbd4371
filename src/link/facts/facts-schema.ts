/**
 * The facts of a channel's audio (control-messages.ts, ChannelFacts) as another process or machine sends them: checked, as many become response
 * headers.
 */

import * as z from 'zod';
import { MAX_PLACE } from '../../channel/place-schema.js';
import { MAX_PUSH } from '../../config/push-limits.js';
import { cleaned } from '../../metadata/push-schema.js';
import { signedMs } from '../../metadata/record-schema.js';
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
  silentSinceMs: signedMs.nullable(),
  missingSinceMs: signedMs.nullable(),
  isSilence: z.boolean(),
  hopeful: z.boolean(),
  hasSegments: z.boolean(),
  isAwaited: z.boolean().exactOptional(),
  onAir: z.int().min(0).max(MAX_PLACE).nullable(),
  onAirType: text.nullable(),
  sends: text.nullable().exactOptional(),
  facts: sourceFacts.nullable(),
  bitrateKbps: kbps,
  delayedMs: delayMs,
  metaint: metaint.nullable(),
});
