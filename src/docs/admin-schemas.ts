/** The shapes of the admin interface (http/admin/README.md). Those with a title have that name in the OpenAPI document (components.ts). */

import type { z } from 'zod';
import { blockRow, fallbackRow, listenerRow, refusalRow, sessionRow, watcherRow } from '../admin/rows.js';
import { COUNT, count, FLAG, type Json, list, NUMBER, object, orNull, TEXT, text, titled } from './json.js';
import { jsonSchema } from './schemas.js';

export const texts = list(TEXT);
const moment: Json = { ...NUMBER, description: 'Unix milliseconds.' };

const SOURCE = titled('Source', {
  place: COUNT,
  kind: { enum: ['encoder', 'pull', 'file'] },
  state: { enum: ['idle', 'starting', 'up'] },
  isOnAir: FLAG,
  address: TEXT,
  agent: TEXT,
  sinceMs: orNull(moment),
  bitrateKbps: NUMBER,
  contentType: orNull(TEXT),
  troubles: texts,
  events: { type: 'object', additionalProperties: COUNT },
  upstream: orNull(COUNT),
});

export const UPSTREAM: Json = { title: 'Upstream', allOf: [object({ channel: TEXT }), SOURCE] };

export const SOURCES = titled('Sources', {
  channel: TEXT,
  onAir: orNull(COUNT),
  pinned: orNull(count('The source that an operator chose.')),
  onAirSinceMs: orNull(moment),
  silentSinceMs: orNull({ ...moment, description: 'Unix milliseconds; null: there is audio.' }),
  fallback: orNull(text('The mount that stands in while it has no audio.')),
  hls: {
    enum: ['cut', 'copied', 'resting', null],
    description: 'cut: HLS segments are made here; copied: from another machine; resting: not requested; null: no HLS.',
  },
  sources: list(SOURCE),
});

const ABOUT_CHANNEL = object({
  station: TEXT,
  name: TEXT,
  genre: TEXT,
  description: TEXT,
  mounts: texts,
  listenUrl: TEXT,
  contentType: TEXT,
  bitrateKbps: NUMBER,
  sampleRate: NUMBER,
  audioChannels: COUNT,
  title: TEXT,
  nextTitle: TEXT,
  held: COUNT,
  listeners: COUNT,
  peakListeners: COUNT,
  connections: COUNT,
  peakConnections: COUNT,
  hlsListeners: count(
    'Estimate of anonymous HLS listeners, not counted in listeners. Those behind a cache are missing.',
  ),
  maxListeners: orNull(COUNT),
  lagMs: orNull(NUMBER),
  isPublic: FLAG,
});
export const CHANNEL: Json = { title: 'Channel', allOf: [SOURCES, ABOUT_CHANNEL] };

const TIMELINE_ENTRY = titled('Timeline entry', {
  atMs: moment,
  what: text('`on-air`; `format`: listeners get another format; else an event of the source.'),
  place: orNull(COUNT),
  kind: orNull(TEXT),
  reason: TEXT,
  isOver: FLAG,
  count: COUNT,
});
const TAPE = titled('Tape', {
  heldMs: NUMBER,
  bytes: COUNT,
  segments: COUNT,
  metaint: orNull(COUNT),
  delayMs: NUMBER,
  delayedMs: NUMBER,
});
const TAPE_TITLE = titled('Title on the tape', {
  id: TEXT,
  title: TEXT,
  behindMs: { ...NUMBER, description: 'Milliseconds of audio from where it takes effect to the live edge.' },
});
const TITLE_IN_FORCE = titled('Title in force', {
  id: TEXT,
  title: TEXT,
  artist: TEXT,
  song: TEXT,
  album: TEXT,
  cover: TEXT,
  durationSeconds: COUNT,
  source: { enum: ['metapush', 'encoder', 'upstream', 'fallback'] },
  sinceMs: moment,
  isCorrectable: { ...FLAG, description: 'true: a push with its id corrects it; false: such a push is another play.' },
});
const DEPTH = object({
  now: orNull(TITLE_IN_FORCE),
  timeline: list(TIMELINE_ENTRY),
  tape: orNull(TAPE),
  titles: list(TAPE_TITLE),
  endings: { type: 'object', additionalProperties: COUNT },
  bySecondsBehind: {
    ...list(COUNT),
    description:
      'How many listeners are 0, 1, 2 … seconds behind the live edge; the last number includes all further behind.',
  },
});
/** In depth. */
export const ONE_CHANNEL: Json = { title: 'Channel in depth', allOf: [CHANNEL, DEPTH] };

export const HELD_PUSH = titled('Held push', { channel: TEXT, id: TEXT, artist: TEXT, song: TEXT, atMs: moment });

/** How many listeners were ended. */
export const ended = object({ ended: COUNT });

export const TOKEN = titled('Token', {
  id: {
    ...TEXT,
    description: "Unique. Of a configured token: `config-`, the channel's key, and its number there.",
    examples: ['config-demo-1', '0b9f5b1c-6a5e-4a0f-9b43-3f0f6f7c2f11'],
  },
  channel: TEXT,
  name: TEXT,
  isConfigured: FLAG,
  sinceMs: orNull(moment),
  by: orNull(TEXT),
  untilMs: orNull(moment),
  lastUsedMs: orNull(moment),
});

export const MADE = titled('Made token', { id: TEXT, channel: TEXT, name: TEXT, token: text('Shown once.') });

const NAMED = { name: TEXT, rights: list({ enum: ['read', 'titles', 'operate'] }) };
export const USER = {
  ...titled('User', {
    ...NAMED,
    loginUntilMs: {
      type: 'number',
      description: 'Unix milliseconds when the login of the operator page ends; else absent.',
    },
  }),
  required: Object.keys(NAMED),
};

/** The rows of admin/rows.ts by their titles. */
export function rowShapes() {
  const row = (title: string, schema: z.ZodObject) => titled(title, jsonSchema(schema).properties);
  return {
    LISTENER: row('Listener', listenerRow),
    SESSION: row('Session', sessionRow),
    WATCHER: row('Watcher', watcherRow),
    REFUSAL: row('Refusal', refusalRow),
    BLOCK: row('Block', blockRow),
    FALLBACK: row('Fallback', fallbackRow),
  };
}
