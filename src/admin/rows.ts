/**
 * What is listed of all processes, row by row: one schema for the type, for the check of what another process reports (admin-schema.ts), and for
 * the API document (docs/admin-schemas.ts). Times are unix milliseconds.
 */

import * as z from 'zod';
import { KEY } from '../base/key.js';
import { network, text } from '../config/field.js';
import { MAX_PUSH } from '../config/push-limits.js';
import { cleaned } from '../metadata/push-schema.js';
import { counted, moment } from '../metadata/record-schema.js';

/** Of a line of a title, which has three texts of a push, and of what a client sent, such as its user agent. */
export const MAX_TEXT_BYTES = 4 * MAX_PUSH.textBytes;

/** Of one list, and up to where a page of one may end: pages have fewer. */
export const MAX_ROWS = 1_000_000;
/** Of a listener, as it is asked for. */
export const listenerId = text(1, 64);

export const channel = z.string().regex(KEY);
const words = cleaned(MAX_TEXT_BYTES);
const ms = z.number().describe('Unix milliseconds.');
const wallMs = moment.describe('Unix milliseconds.');

/** A connection that listens. */
export const listenerRow = z.object({
  // Of the process and the connection: `3-1204`.
  id: words,
  channel,
  mount: words.describe(
    'The path that it asked for; of one that was moved: where it goes on, / and a key, or the mount of a fallback.',
  ),
  address: words,
  agent: words,
  referer: words,
  sinceMs: ms,
  // How far what it hears is behind the live edge, milliseconds of audio.
  lagMs: z.number(),
  bytes: z.int().min(0),
  // The title that it was sent last, and the one that it hears; "": none.
  title: words,
  hears: words,
  icy: z.boolean(),
  hls: z
    .boolean()
    .describe(
      'Whether it plays HLS: it has no connection of its own, and is let go when it asks for its playlist no more.',
    ),
  // The beginning of it, null: it has none.
  metaid: words.nullable(),
});
export type ListenerReport = Readonly<z.output<typeof listenerRow>>;

/** A listener with a metaid, of which only the beginning is here; what was sent last, and what is heard. */
export const sessionRow = z.object({ metaid: words, channel, mount: words, written: words, heard: words });
export type SessionReport = Readonly<z.output<typeof sessionRow>>;

/** `scope` is channel, station or listener; `id` of a listener is the beginning of its metaid. */
export const watcherRow = z.object({ scope: words, id: words, address: words, sinceMs: ms });
export type WatcherReport = Readonly<z.output<typeof watcherRow>>;

export const refusalRow = z.object({
  atMs: ms,
  address: words,
  what: words,
  why: words,
  channel: words.nullable(),
  // That an encoder asked for; null: none was named, or a process of an older version reports it.
  mount: words.nullable().default(null),
  status: counted,
});
export type RefusalReport = Readonly<z.output<typeof refusalRow>>;

/** `line` is JSON as it was logged. */
export const logRow = z.object({ atMs: ms, process: counted, line: cleaned(1024 * 1024) });
export type LogLine = Readonly<z.output<typeof logRow>>;

/** An address or network (192.0.2.1, 192.0.2.0/24) whose connections are refused; `by` is the user who blocked it. */
export const blockRow = z.object({
  network: network(),
  untilMs: wallMs,
  reason: cleaned(1024),
  by: cleaned(1024),
  sinceMs: wallMs,
});
export type AdminBlock = Readonly<z.output<typeof blockRow>>;

/** The mount `to` stands in for a channel while that has no audio. */
export const fallbackRow = z.object({
  channel,
  to: text(1, 255).regex(/^\//).describe('A mount.'),
  by: cleaned(1024),
  sinceMs: wallMs,
});
export type ChannelFallback = Readonly<z.output<typeof fallbackRow>>;
