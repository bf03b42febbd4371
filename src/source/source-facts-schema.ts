/**
 * What a source states about itself: the one definition, for its own headers (source-facts.ts) and for what another process or machine says of it. It
 * goes into the headers of responses, so each text is one clean line of bounded length. Empty texts, 0 and undefined: not stated.
 */

import * as z from 'zod';
import { MAX_KBPS } from '../audio/frames/mean-bitrate.js';
import { MAX_PUSH } from '../config/push-limits.js';
import { cleaned } from '../metadata/push-schema.js';
import type { Plain } from '../metadata/record-schema.js';

/** A source's higher value is ignored. */
export const MAX_HERTZ = 768_000;
export const MAX_AUDIO_CHANNELS = 255;

export const kbps = z.number().min(0).max(MAX_KBPS).default(0);
export const hertz = z.number().min(0).max(MAX_HERTZ).default(0);
export const audioChannels = z.int().min(0).max(MAX_AUDIO_CHANNELS).default(0);
const text = cleaned(MAX_PUSH.textBytes).default('');

export const sourceFactsSchema = z.looseObject({
  name: text,
  genre: text,
  /** http or https. */
  url: cleaned(MAX_PUSH.urlBytes)
    .refine((url) => url === '' || /^https?:\/\/[^\s<>"']+$/i.test(url))
    .default(''),
  description: text,
  public: z.boolean().optional(),
  bitrateKbps: kbps,
  sampleRate: hertz,
  channels: audioChannels,
  /** Such as `bitrate=128;channels=2`, with its percent-encoding decoded. */
  audioInfo: text,
  /** As sent, in lower case, without parameters. */
  contentType: text,
});

export type SourceFacts = Plain<z.output<typeof sourceFactsSchema>>;
