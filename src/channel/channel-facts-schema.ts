/**
 * The facts of a live channel: the one definition of what the process that feeds it knows and reports to the others. A new fact is a line here, and a
 * getter where it is measured: in OwnLive, or in the audio. What comes from another process is checked, as many facts become response headers; one
 * that a machine of an earlier version does not send has its default.
 */

import * as z from 'zod';
import type { AudioFormat } from '../audio/frames/audio-format.js';
import { MAX_METAINT } from '../audio/tape/metaint-choice.js';
import { MAX_PUSH } from '../config/push-limits.js';
import { cleaned } from '../metadata/push-schema.js';
import { type Plain, signedMs } from '../metadata/record-schema.js';
import { audioChannels, hertz, kbps, sourceFactsSchema } from '../source/source-facts-schema.js';

/** The number of a source in its channel's list: a configuration has at most 16. */
export const MAX_INDEX = 1000;
/** The longest delay of a channel. */
export const MAX_DELAY_MS = 60_000;

const text = cleaned(MAX_PUSH.textBytes);
const delayMs = z
  .number()
  .min(0)
  .max(2 * MAX_DELAY_MS)
  .default(0);
/** Since when, milliseconds by this process's monotonic clock, in messages by one that both ends share. +∞, in messages null: it is not so. */
const since = signedMs
  .nullable()
  .default(null)
  .transform((ms) => ms ?? Number.POSITIVE_INFINITY);

/** The state that changes with the sources: of those here, or of those that feed the channel elsewhere. */
const live = {
  /** When sources began to feed it without a gap, unix milliseconds; null: none is on air. */
  onAirSinceMs: signedMs.nullable().default(null),
  /** When listeners last had audio from it; +∞ while there is audio, if only in the delay line. */
  silentSinceMs: since,
  /** The same if there should be audio; else +∞: with `partTime`, or on demand without listeners. */
  missingSinceMs: since,
  /** Whether the source on air sends digital silence. */
  isSilence: z.boolean().default(false),
  /** The place of the source on air in the configuration, from 0; null: none. */
  onAir: z.int().min(0).max(MAX_INDEX).nullable().default(null),
  /** The content type of the source on air; null: unknown yet. */
  onAirType: text.nullable().default(null),
  /** The format that listeners get: a content type, or a codec of Ogg; null: there is no tape. */
  sends: text.nullable().default(null),
  /** What the source on air says of itself. */
  facts: sourceFactsSchema.nullable().default(null),
  /** Whether waiting for audio makes sense. */
  hopeful: z.boolean().default(true),
};

/** The audio of this process, as in PlayableAudio. */
const audio = {
  contentType: text.default('audio/mpeg'),
  bitrateKbps: kbps,
  sampleRate: hertz,
  channels: audioChannels,
  delayMs,
  delayedMs: delayMs,
  metaint: z.int().min(1).max(MAX_METAINT).nullable().default(null),
  hasSegments: z.boolean().default(false),
};

export const factsSchema = z.looseObject({
  ...live,
  ...audio,
  /** Whether the switch of this process waits for the source on air (source/switch.ts). */
  isAwaited: z.boolean().default(false),
});

export type ChannelFacts = Plain<z.output<typeof factsSchema>>;
export type ChannelLive = Pick<ChannelFacts, keyof typeof live>;
/** What another process or machine reports of a channel that it feeds. */
export interface RemoteLive extends ChannelLive {
  /** The format of its latest audio; null: there was none. */
  readonly format: AudioFormat | null;
}
type MomentFact = { [K in keyof typeof live]: (typeof live)[K] extends typeof since ? K : never }[keyof typeof live];

export const FACTS = Object.keys(factsSchema.shape) as (keyof ChannelFacts)[];
export const LIVE_FACTS = Object.keys(live) as (keyof ChannelLive)[];
export const AUDIO_FACTS = Object.keys(audio) as (keyof typeof audio)[];
const MOMENTS = LIVE_FACTS.filter(isMoment);

/** For a channel of which nothing is known yet. */
export const NO_FACTS: ChannelFacts = factsSchema.parse({});

export function isMoment(name: keyof ChannelFacts): name is MomentFact {
  return (live as Readonly<Record<string, unknown>>)[name] === since;
}

/** The same facts with each moment as `move` returns it: by another clock. */
export function withMoments(facts: ChannelFacts, move: (ms: number) => number): ChannelFacts {
  const moved: { -readonly [K in keyof ChannelFacts]: ChannelFacts[K] } = { ...facts };
  for (const name of MOMENTS) moved[name] = move(facts[name]);
  return moved;
}
