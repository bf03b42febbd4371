/**
 * Rows of the lists over all processes: one schema for the type, for the check of another process's report (admin-schema.ts), and for the API
 * document (docs/admin-schemas.ts). Times are unix milliseconds.
 */

import * as z from 'zod';
import { KEY } from '../base/key.js';
import { network, text } from '../config/field.js';
import { MAX_PUSH } from '../config/push-limits.js';
import { cleaned } from '../metadata/push-schema.js';
import { counted, moment, type Plain } from '../metadata/record-schema.js';

/** Limit for a title line, which has three texts of a push, and for a client's text, such as its User-Agent. */
export const MAX_TEXT_BYTES = 4 * MAX_PUSH.textBytes;

/** Limit on rows in a list, and maximum position at which a page may end. */
export const MAX_ROWS = 1_000_000;
/** The id of a listener in a request. */
export const listenerId = text(1, 64);

export const channel = z.string().regex(KEY);
const words = cleaned(MAX_TEXT_BYTES);
export const unixMs = z.number().describe('Unix milliseconds.');
const wallMs = moment.describe('Unix milliseconds.');

/** A listener's connection. */
export const listenerRow = z.object({
  // The numbers of the process and the connection: `3-1204`.
  id: words,
  channel,
  mount: words.describe(
    'The requested path. After a move: / and the key of the channel, or the mount of the fallback.',
  ),
  address: words,
  agent: words,
  referer: words,
  sinceMs: unixMs,
  lagMs: z.number().describe('Milliseconds of audio behind the live edge.'),
  bytes: z.int().min(0),
  title: words.describe('The last title sent; "": none.'),
  hears: words.describe('The title heard; "": none.'),
  icy: z.boolean(),
  hls: z
    .boolean()
    .describe('Whether it plays HLS: without a connection of its own, it ends when it stops requesting its playlist.'),
  metaid: words.nullable().describe('Its beginning; null: none.'),
});
export type ListenerReport = Readonly<z.output<typeof listenerRow>>;

/** A listener with a metaid, of which this is only the beginning; the last title written, and the one heard. */
export const sessionRow = z.object({ metaid: words, channel, mount: words, written: words, heard: words });
export type SessionReport = Readonly<z.output<typeof sessionRow>>;

/** `scope` is channel, station or listener; the `id` of a listener is the beginning of its metaid. */
export const watcherRow = z.object({ scope: words, id: words, address: words, sinceMs: unixMs });
export type WatcherReport = Readonly<z.output<typeof watcherRow>>;

export const refusalRow = z.object({
  atMs: unixMs,
  address: words,
  what: words,
  why: words,
  channel: words.nullable(),
  // The mount in an encoder's request; null: none, or the report comes from a process of an older version.
  mount: words.nullable().default(null),
  status: counted,
});
export type RefusalReport = Readonly<z.output<typeof refusalRow>>;

/** `line` is the logged JSON. */
export const logRow = z.object({ atMs: unixMs, process: counted, line: cleaned(1024 * 1024) });
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

/** The mount `to` provides the audio of a channel that has none. */
export const fallbackRow = z.object({
  channel,
  to: text(1, 255).regex(/^\//).describe('A mount.'),
  by: cleaned(1024),
  sinceMs: wallMs,
});
export type ChannelFallback = Readonly<z.output<typeof fallbackRow>>;

/** A push token that an operator has created. `untilMs`: when it expires, if another token has replaced it; null: never. */
export const tokenRow = z.object({
  id: text(1, 64),
  channel,
  name: cleaned(1024),
  sinceMs: moment,
  by: cleaned(1024),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  untilMs: moment.nullable(),
});
export type MadeToken = Readonly<z.output<typeof tokenRow>>;

/** Figures about one channel's listeners, in one process or in all. */
export const crowdRow = z.object({
  endings: z.record(z.string().max(64), counted).describe('Ending → number since the process started.'),
  bySecondsBehind: z
    .array(counted)
    .max(1000)
    .describe(
      'How many listeners are 0, 1, 2 … seconds behind the live edge; the last number includes all further behind.',
    ),
});
export type CrowdReport = Plain<z.output<typeof crowdRow>>;
