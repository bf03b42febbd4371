/** The shapes of the admin interface (http/admin/README.md). Those with a title have that name in the OpenAPI document (components.ts). */

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
import { COUNT, type Json, list, NUMBER, object, orNull, TEXT, text, titled } from './json.js';
import { jsonSchema } from './schemas.js';

export const texts = list(TEXT);
const moment: Json = { ...NUMBER, description: 'Unix milliseconds.' };

export const SOURCES = jsonSchema(channelSources);
export const UPSTREAM: Json = { title: 'Upstream', allOf: [object({ channel: TEXT }), jsonSchema(source)] };
export const CHANNEL: Json = { title: 'Channel', allOf: [SOURCES, jsonSchema(aboutChannel)] };
/** In depth. */
export const ONE_CHANNEL: Json = {
  title: 'Channel in depth',
  allOf: [CHANNEL, object({ now: orNull(jsonSchema(titleInForce)) }), jsonSchema(channelDepth), jsonSchema(crowdRow)],
};
export const TOKEN = jsonSchema(tokenReport);

export const HELD_PUSH = titled('Held push', { channel: TEXT, id: TEXT, artist: TEXT, song: TEXT, atMs: moment });

/** How many listeners were ended. */
export const ended = object({ ended: COUNT });

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
