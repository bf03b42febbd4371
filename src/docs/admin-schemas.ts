/** The shapes of the admin interface (http/admin/README.md). Those with a title have that name in the OpenAPI document (components.ts). */

import type { Json } from './schemas.js';

export const text: Json = { type: 'string' };
export const count: Json = { type: 'integer', minimum: 0 };
export const texts: Json = { type: 'array', items: text };
const flag: Json = { type: 'boolean' };
const amount: Json = { type: 'number' };
const moment: Json = { type: 'number', description: 'Unix milliseconds.' };
const orNull = (schema: Json): Json => ({ anyOf: [schema, { type: 'null' }] });
export const list = (items: Json): Json => ({ type: 'array', items });

/** All members are there. */
export function object(properties: Readonly<Record<string, Json>>): Json {
  return { type: 'object', required: Object.keys(properties), properties };
}

const SOURCE: Json = {
  title: 'Source',
  ...object({
    place: count,
    kind: { enum: ['encoder', 'pull', 'file'] },
    state: { enum: ['idle', 'starting', 'up'] },
    isOnAir: flag,
    address: text,
    agent: text,
    sinceMs: orNull(moment),
    bitrateKbps: amount,
    contentType: orNull(text),
    troubles: texts,
    events: { type: 'object', additionalProperties: count },
    upstream: orNull(count),
  }),
};

export const UPSTREAM: Json = { title: 'Upstream', allOf: [object({ channel: text }), SOURCE] };

export const SOURCES: Json = {
  title: 'Sources',
  ...object({
    channel: text,
    onAir: orNull(count),
    pinned: orNull(count),
    onAirSinceMs: orNull(moment),
    silentSinceMs: orNull(moment),
    fallback: orNull({ ...text, description: 'The mount that stands in for it while it has no audio.' }),
    sources: list(SOURCE),
  }),
};

const ABOUT_CHANNEL = object({
  station: text,
  name: text,
  genre: text,
  description: text,
  mounts: texts,
  listenUrl: text,
  contentType: text,
  bitrateKbps: amount,
  sampleRate: amount,
  audioChannels: count,
  title: text,
  nextTitle: text,
  held: count,
  listeners: count,
  peakListeners: count,
  connections: count,
  peakConnections: count,
  maxListeners: orNull(count),
  lagMs: orNull(amount),
  isPublic: flag,
});
export const CHANNEL: Json = { title: 'Channel', allOf: [SOURCES, ABOUT_CHANNEL] };

const TIMELINE_ENTRY: Json = {
  title: 'Timeline entry',
  ...object({
    atMs: moment,
    what: { ...text, description: '`on-air`; `format`: listeners get another format; else an event of the source.' },
    place: orNull(count),
    kind: orNull(text),
    reason: text,
    isOver: flag,
    count,
  }),
};
const TAPE: Json = {
  title: 'Tape',
  ...object({
    heldMs: amount,
    bytes: count,
    segments: count,
    metaint: orNull(count),
    delayMs: amount,
    delayedMs: amount,
  }),
};
const TAPE_TITLE: Json = {
  title: 'Title on the tape',
  ...object({
    id: text,
    title: text,
    behindMs: { ...amount, description: 'How far behind the live edge it takes effect, milliseconds of audio.' },
  }),
};
const TITLE_IN_FORCE: Json = {
  title: 'Title in force',
  ...object({
    id: text,
    title: text,
    artist: text,
    song: text,
    album: text,
    cover: text,
    durationSeconds: count,
    source: { enum: ['metapush', 'encoder', 'upstream', 'fallback'] },
    sinceMs: moment,
    isCorrectable: { ...flag, description: 'A push with its id corrects it; otherwise that push is another play.' },
  }),
};
const DEPTH = object({
  now: orNull(TITLE_IN_FORCE),
  timeline: list(TIMELINE_ENTRY),
  tape: orNull(TAPE),
  titles: list(TAPE_TITLE),
  endings: { type: 'object', additionalProperties: count },
  bySecondsBehind: {
    ...list(count),
    description:
      'How many listeners hear what is 0, 1, 2 … seconds behind the live edge; the last one has all who are further.',
  },
});
/** In depth. */
export const ONE_CHANNEL: Json = { title: 'Channel in depth', allOf: [CHANNEL, DEPTH] };

export const LISTENER: Json = {
  title: 'Listener',
  ...object({
    id: text,
    channel: text,
    mount: {
      ...text,
      description:
        'The path that it asked for; of one that was moved: where it goes on, / and a key, or the mount of a fallback.',
    },
    address: text,
    agent: text,
    referer: text,
    sinceMs: moment,
    lagMs: amount,
    bytes: count,
    title: text,
    hears: text,
    icy: flag,
    metaid: orNull(text),
  }),
};

export const SESSION: Json = {
  title: 'Session',
  ...object({ metaid: text, channel: text, mount: text, written: text, heard: text }),
};

export const WATCHER: Json = {
  title: 'Watcher',
  ...object({ scope: text, id: text, address: text, sinceMs: moment }),
};

export const HELD_PUSH: Json = {
  title: 'Held push',
  ...object({ channel: text, id: text, artist: text, song: text, atMs: moment }),
};

export const FALLBACK: Json = {
  title: 'Fallback',
  ...object({ channel: text, to: { ...text, description: 'A mount.' }, by: text, sinceMs: moment }),
};

export const BLOCK: Json = {
  title: 'Block',
  ...object({ network: text, untilMs: moment, reason: text, by: text, sinceMs: moment }),
};

/** How many listeners were ended. */
export const ended = object({ ended: count });

export const TOKEN: Json = {
  title: 'Token',
  ...object({
    id: {
      ...text,
      description: "Its own among all. Of one of the configuration: `config-`, the channel's key, and its place there.",
      examples: ['config-demo-1', '0b9f5b1c-6a5e-4a0f-9b43-3f0f6f7c2f11'],
    },
    channel: text,
    name: text,
    isConfigured: flag,
    sinceMs: orNull(moment),
    by: orNull(text),
    untilMs: orNull(moment),
    lastUsedMs: orNull(moment),
  }),
};

export const MADE: Json = {
  title: 'Made token',
  ...object({ id: text, channel: text, name: text, token: { ...text, description: 'Shown once.' } }),
};

export const USER: Json = {
  title: 'User',
  ...object({ name: text, rights: list({ enum: ['read', 'titles', 'operate'] }) }),
};

export const REFUSAL: Json = {
  title: 'Refusal',
  ...object({
    atMs: moment,
    address: text,
    what: text,
    why: text,
    channel: orNull(text),
    mount: orNull(text),
    status: count,
  }),
};
