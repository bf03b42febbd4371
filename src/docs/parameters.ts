/** The parameters and contents that operations share. Used by the parts of the OpenAPI document only. */

import { KEY, METAID } from '../base/key.js';
import { type Json, TEXT } from './json.js';
import { header } from './responses.js';
import type { ObjectSchema, Schemas } from './schemas.js';

const KEY_SCHEMA = { ...TEXT, pattern: KEY.source };
export const METAID_SCHEMA = { ...TEXT, pattern: METAID.source };
export const TEXT_TYPE = 'text/plain; charset=utf-8';

const inPath = (description: string, schema = TEXT) => ({ in: 'path', required: true, description, schema });
export const inQuery = (name: string, description: string, schema = TEXT) => ({
  name,
  in: 'query',
  description,
  schema,
});
/** One for each member of a query's schema, all of which have a description. */
export function parametersIn({ properties }: ObjectSchema): Json[] {
  return Object.entries(properties).map(([name, { description, ...schema }]) =>
    inQuery(name, String(description), schema),
  );
}
export const inHeader = (name: string, description: string) => ({ name, in: 'header', description, schema: TEXT });
/** Of CSV. */
export const bom = inQuery('bom', '1: with a byte order mark, so that spreadsheets detect UTF-8.', {
  enum: ['0', '1'],
  default: '0',
});

/** By their names in the templates of paths. */
const IN_PATH: Readonly<Record<string, Json>> = {
  channelkey: inPath("The channel's key.", KEY_SCHEMA),
  stationkey: inPath("The station's key.", KEY_SCHEMA),
  metaid: inPath("The id that this listener's player made, with at least 128 random bits.", METAID_SCHEMA),
  token: inPath('A push token of the channel.'),
  mount: inPath('A mount (it may contain slashes) or a channel key.'),
  segment: inPath('Its name in the playlist.'),
  id: inPath('The id from the list.'),
  name: inPath('The id of a title, and the file extension of its picture.'),
  network: inPath('The address or network as blocked, percent-encoded.'),
};

/** The parameters that a template names. */
export function pathParameters(template: string): Json[] {
  return Array.from(template.matchAll(/\{(\w+)\}/g), ([, name]) => ({ name, ...IN_PATH[name!] }));
}

export const type = inQuery('type', 'now: the current track; next: the following one.', {
  enum: ['now', 'next'],
  default: 'now',
});
export const types = inQuery('type', 'now: the current tracks; next: the following ones; all: both.', {
  enum: ['now', 'next', 'all'],
  default: 'now',
});
export const sync = inQuery(
  'sync',
  'audio: what the player hears if it plays in real time, or as it reports; wire: what was last written to its connection.',
  { enum: ['audio', 'wire'], default: 'audio' },
);
export const ifNoneMatch = inHeader('If-None-Match', 'An ETag.');
export const contentType = header('The type of the content.');

export const ref = (name: keyof Schemas) => ({ $ref: `#/components/schemas/${name}` });
