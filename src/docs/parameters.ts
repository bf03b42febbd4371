/** The parameters and contents that operations share. Used by the parts of the OpenAPI document only. */

import { KEY, METAID } from '../base/key.js';
import { header } from './responses.js';
import type { Json, Schemas } from './schemas.js';

const KEY_SCHEMA = { type: 'string', pattern: KEY.source };
export const METAID_SCHEMA = { type: 'string', pattern: METAID.source };
export const TEXT_TYPE = 'text/plain; charset=utf-8';

export const inPath = (name: string, description: string, schema: Json = KEY_SCHEMA) => ({
  name,
  in: 'path',
  required: true,
  description,
  schema,
});
export const inQuery = (name: string, description: string, schema: Json) => ({
  name,
  in: 'query',
  description,
  schema,
});

export const channelKey = inPath('channelkey', "The channel's key.");
export const stationKey = inPath('stationkey', "The station's key.");
export const metaid = inPath(
  'metaid',
  "The id that this listener's player made, at least 128 random bits.",
  METAID_SCHEMA,
);
export const type = inQuery('type', 'The current track, or the following one.', {
  enum: ['now', 'next'],
  default: 'now',
});
export const types = inQuery('type', 'The current tracks, the following ones, or both.', {
  enum: ['now', 'next', 'all'],
  default: 'now',
});
export const sync = inQuery(
  'sync',
  'audio: what is heard, by a player in real time since its first byte. wire: what was written to its connection.',
  { enum: ['audio', 'wire'], default: 'audio' },
);
export const ifNoneMatch = { name: 'If-None-Match', in: 'header', description: 'An ETag.', schema: { type: 'string' } };
export const contentType = header('The type of the content.');

export const ref = (name: keyof Schemas) => ({ $ref: `#/components/schemas/${name}` });
export const content = (mediaType: string, schema: Json) => ({ [mediaType]: { schema } });
