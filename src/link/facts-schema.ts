/** What another process or machine says of a channel's audio (control.ts, ChannelFacts), checked before it is believed: much of it goes into heads of answers. */

import { z } from 'zod';
import { MAX_PUSH } from '../config/push-limits.js';
import { cleaned } from '../metadata/push-schema.js';
import { signedMs } from '../metadata/record-schema.js';

/** More is nonsense (source/facts.ts). */
const kbps = z.number().min(0).max(10_000);
const hertz = z.number().min(0).max(768_000);
const channels = z.int().min(0).max(255);
/** Of a delay line; a configuration can set no longer one (channel.delaySeconds). */
const MAX_DELAY_MS = 3_600_000;
/** Of sources of one channel. */
const MAX_PLACE = 1000;

const text = cleaned(MAX_PUSH.textBytes);
const url = cleaned(MAX_PUSH.urlBytes).refine((value) => value === '' || /^https?:\/\/[^\s<>"']+$/i.test(value));
const delayMs = z.number().min(0).max(MAX_DELAY_MS);
const metaint = z.int().min(1).max(65_535);

const sourceFacts = z.looseObject({
  ...{ name: text, genre: text, url, description: text, audioInfo: text, contentType: text },
  ...{ bitrateKbps: kbps, sampleRate: hertz, channels },
  public: z.boolean().optional(),
});

/** What is said with a tape (tape-messages.ts, AudioStats). */
export const audioStats = { contentType: text, sampleRate: hertz, channels, delayMs };

export const factsSchema = z.looseObject({
  ...audioStats,
  ...{ onAirSinceMs: signedMs.nullable(), silentSinceMs: signedMs.nullable(), missingSinceMs: signedMs.nullable() },
  ...{ isSilence: z.boolean(), hopeful: z.boolean(), hasSegments: z.boolean(), isAwaited: z.boolean().exactOptional() },
  onAir: z.int().min(0).max(MAX_PLACE).nullable(),
  onAirType: text.nullable(),
  sends: text.nullable().exactOptional(),
  facts: sourceFacts.nullable(),
  bitrateKbps: kbps,
  delayedMs: delayMs,
  metaint: metaint.nullable(),
});
