/**
 * What operators see of a channel: one schema for the type and for the API document (docs/admin-schemas.ts). A `title` is the name in that document.
 * Times are unix milliseconds.
 */

import * as z from 'zod';
import { timelineEntry } from '../channel/source-timeline.js';
import { type Plain, trackSchema } from '../metadata/record-schema.js';
import { unixMs } from './rows.js';

const text = z.string();
const count = z.int().min(0);
const ms = z.number();

export const source = z
  .object({
    place: count.describe('Its index in the configuration, from 0.'),
    kind: z.enum(['encoder', 'pull', 'file']),
    state: z.enum(['idle', 'starting', 'up']),
    isOnAir: z.boolean(),
    address: text.describe('An encoder\'s; "": unknown.'),
    agent: text.describe('An encoder\'s User-Agent; "": unknown.'),
    sinceMs: unixMs
      .nullable()
      .describe('When an encoder or upstream connected; null: it is not connected, or it is a file.'),
    bitrateKbps: z.number().describe('Measured over 10 s; 0: unknown yet.'),
    contentType: text.nullable(),
    troubles: z.array(text).describe('Present faults: stalled, unsteady, bitrate-off, silent.'),
    events: z.record(text, count).describe('Event → number of reports since the start.'),
    upstream: count.nullable().describe("The number of an upstream's URL in use (from 1); null: none."),
  })
  .meta({ title: 'Source' });
export type SourceReport = Plain<z.output<typeof source>>;

export const channelSources = z
  .object({
    channel: text,
    onAir: count.nullable().describe('The index of the source on air; null: none.'),
    pinned: count.nullable().describe('The index of the source that an operator has chosen; null: the best one plays.'),
    onAirSinceMs: unixMs.nullable(),
    silentSinceMs: unixMs.nullable().describe('When its audio ended; null: there is audio.'),
    fallback: text.nullable().describe('The mount whose audio replaces its own while it has none; null: none.'),
    hls: z
      .enum(['cut', 'copied', 'resting'])
      .nullable()
      .describe('cut: HLS segments are made here; copied: from another machine; resting: not requested; null: no HLS.'),
    sources: z.array(source),
  })
  .meta({ title: 'Sources' });
export type ChannelSources = Plain<z.output<typeof channelSources>>;

/** Of a channel at a glance, besides its sources. */
export const aboutChannel = z.object({
  station: text,
  name: text,
  genre: text,
  description: text,
  mounts: z.array(text).describe('Its paths; statistics name the first.'),
  listenUrl: text,
  contentType: text,
  bitrateKbps: z.number(),
  sampleRate: z.number(),
  audioChannels: count,
  title: text,
  nextTitle: text,
  held: count.describe('Number of pushes that wait for their time.'),
  listeners: count.describe(
    'Number of distinct listeners, as far as connections show it. Peaks are those since the start.',
  ),
  peakListeners: count,
  connections: count,
  peakConnections: count,
  hlsListeners: count.describe(
    'Estimate of anonymous HLS listeners, not counted in listeners. Those behind a cache are missing.',
  ),
  maxListeners: count.nullable(),
  lagMs: ms.nullable().describe('The lag of the median listener behind the live edge; null: there are no listeners.'),
  isPublic: z.boolean(),
});
export type ChannelReport = ChannelSources & Plain<z.output<typeof aboutChannel>>;

const tape = z
  .object({
    heldMs: ms.describe('Audio in complete segments.'),
    bytes: count,
    segments: count,
    metaint: count.nullable().describe('Bytes between two ICY blocks; null: titles are in the stream itself (Ogg).'),
    delayMs: ms.describe('As configured.'),
    delayedMs: ms.describe('In the delay line now.'),
  })
  .meta({ title: 'Tape' });
export type TapeReport = Plain<z.output<typeof tape>>;

const tapeTitle = z
  .object({
    id: text,
    title: text,
    behindMs: ms.describe(
      'Milliseconds of audio from where it takes effect to the live edge; a minimum for the first title.',
    ),
  })
  .meta({ title: 'Title on the tape' });
export type TapeTitle = Plain<z.output<typeof tapeTitle>>;

/** Details of one channel, from the hub. */
export const channelDepth = z.object({
  timeline: z.array(timelineEntry).describe('Oldest first.'),
  tape: tape.nullable().describe('null: there was no audio yet.'),
  titles: z.array(tapeTitle).describe('Oldest first: the title in force at the beginning of the tape, and later ones.'),
});
export type ChannelDepth = Plain<z.output<typeof channelDepth>>;

/** The title in force, with all fields that a correction needs. */
export const titleInForce = z
  .object({
    id: text,
    title: text.describe('The line that players show.'),
    artist: text,
    song: text,
    album: text,
    cover: text.describe('The URL of an image, as pushed.'),
    durationSeconds: count.describe('0: no known end.'),
    source: trackSchema.shape.source,
    sinceMs: unixMs.describe('When it took effect.'),
    isCorrectable: z.boolean().describe('true: a push with its id corrects it; false: such a push is another play.'),
  })
  .meta({ title: 'Title in force' });
export type TitleReport = Plain<z.output<typeof titleInForce>>;

export const tokenReport = z
  .object({
    id: text.meta({
      description:
        "Unique. Of a configured token: `config-`, the channel's key, and its number there; it cannot be revoked here.",
      examples: ['config-demo-1', '0b9f5b1c-6a5e-4a0f-9b43-3f0f6f7c2f11'],
    }),
    channel: text,
    name: text,
    isConfigured: z.boolean(),
    sinceMs: unixMs.nullable(),
    by: text.nullable(),
    untilMs: unixMs.nullable(),
    lastUsedMs: unixMs.nullable(),
  })
  .meta({ title: 'Token' });
export type TokenReport = Plain<z.output<typeof tokenReport>>;
