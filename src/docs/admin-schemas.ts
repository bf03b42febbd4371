/** The answers of the admin interface (http/admin/README.md). Those with a title have that name in the OpenAPI document (components.ts). */

import type { z } from 'zod';
import {
  aboutChannel,
  channelDepth,
  channelSources,
  source,
  titleInForce,
  tokenReport,
} from '../admin/channel-rows.js';
import { blockRow, crowdRow, fallbackRow, listenerRow, refusalRow, sessionRow, watcherRow } from '../admin/rows.js';
import { COUNT, count, type Json, list, NUMBER, object, orNull, TEXT, text, titled } from './json.js';
import { ref } from './parameters.js';
import { jsonSchema } from './schemas.js';

const moment: Json = { ...NUMBER, description: 'Unix milliseconds.' };
const row = (title: string, schema: z.ZodObject) => titled(title, jsonSchema(schema).properties);
const channel = (): Json => ({ title: 'Channel', allOf: [chosen(), jsonSchema(aboutChannel)] });

export const self = () => {
  const named = { name: TEXT, rights: list({ enum: ['read', 'titles', 'operate'] }) };
  const loginUntilMs = {
    ...NUMBER,
    description: 'Unix milliseconds when the login of the operator page ends; else absent.',
  };
  return { ...titled('User', { ...named, loginUntilMs }), required: Object.keys(named) };
};
export const channels = () => list(channel());
/** In depth. */
export const oneChannel = (): Json => ({
  title: 'Channel in depth',
  allOf: [channel(), object({ now: orNull(jsonSchema(titleInForce)) }), jsonSchema(channelDepth), jsonSchema(crowdRow)],
});
export const listeners = () => object({ total: COUNT, offset: COUNT, listeners: list(row('Listener', listenerRow)) });
export const sessions = () => list(row('Session', sessionRow));
export const watchers = () => list(row('Watcher', watcherRow));
export const upstreams = () => list({ title: 'Upstream', allOf: [object({ channel: TEXT }), jsonSchema(source)] });
export const held = () =>
  list(titled('Held push', { channel: TEXT, id: TEXT, artist: TEXT, song: TEXT, atMs: moment }));
export const refusals = () => list(row('Refusal', refusalRow));
export const tokens = () => list(jsonSchema(tokenReport));
const block = () => row('Block', blockRow);
export const blocks = () => list(block());

export const pushed = () => ref('PushAnswer');
/** How many listeners were ended. */
export const ended = () => object({ ended: COUNT });
export const moved = () => object({ moved: COUNT, refused: count('Not moved: another format, or no audio there.') });
/** The sources of a channel, and which of them an operator has chosen. */
export const chosen = () => jsonSchema(channelSources);
export const fallback = () => row('Fallback', fallbackRow);
export const reloaded = () => object({ changes: list(TEXT) });
export const blocked = (): Json => ({ allOf: [block(), ended()] });
export const made = () => titled('Made token', { id: TEXT, channel: TEXT, name: TEXT, token: text('Shown once.') });
