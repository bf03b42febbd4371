/** The OpenAPI document's reads: polling and history, and what all reads have in common (src/http/README.md, "Reading"). */

import { PICTURE_TYPES } from '../covers/cover-folder.js';
import { type Json, list, TEXT } from './json.js';
import { bom, ifNoneMatch, inQuery, ref, sync, TEXT_TYPE, type, types } from './parameters.js';
import {
  CORS,
  CORS_WHERE_SERVED,
  content,
  ETAG,
  header,
  JSON_TYPE,
  type More,
  operation,
  optional,
  type RouteDocs,
  refused,
} from './responses.js';

/** The operation of a path that is read by pages of any origin. */
export function readable(tag: string, operationId: string, summary: string, responses: Json, more: More = {}): Json {
  const unknown = refused('not-found', 'Unknown, or not served here.', CORS_WHERE_SERVED);
  return operation(tag, operationId, summary, { ...unknown, ...responses }, more);
}

/** Where an answer may be long. */
const COMPRESSED: Json = {
  Vary: header('Accept-Encoding; each encoding has its own ETag.', { const: 'Accept-Encoding' }),
  'Content-Encoding': optional('br or gzip, if accepted and smaller.', { enum: ['br', 'gzip'] }),
};

const SHARED = 'public, max-age=1';

interface Cached {
  /** How long it may be kept. */
  readonly cache?: string;
  /** Said of 204, where that is an answer. */
  readonly empty?: string;
  /** Of 200, which but for Content-Encoding 304 has too. */
  readonly headers?: Json;
}

/** The answers of a read that is kept by its ETag. */
function cached(body: Json, { cache = SHARED, empty, headers = {} }: Cached = {}): Json {
  const { 'Content-Encoding': _, ...unchanged } = headers;
  const kept = { ...CORS, 'Cache-Control': header('How long it may be cached.', { const: cache }) };
  return {
    200: { description: 'OK', headers: { ...kept, ...ETAG, ...headers }, content: body },
    ...(empty === undefined ? {} : { 204: { description: empty, headers: kept } }),
    304: { description: 'Unchanged: the ETag still matches.', headers: { ...kept, ...ETAG, ...unchanged } },
    ...refused('invalid', 'Parameters are invalid; all of them are named.', CORS),
  };
}

export function polls(): Json {
  const channel = (form: string, body: Json) => {
    const responses = cached(body, { empty: 'Nothing was pushed yet.' });
    const summary = `A channel's title as ${form.toUpperCase()}`;
    return readable('Poll', `pollChannel${form}`, summary, responses, { parameters: [type, ifNoneMatch] });
  };
  const titles = cached(content(JSON_TYPE, list(ref('ChannelRecord'))), { headers: COMPRESSED });
  const heard = {
    ...cached(content(JSON_TYPE, ref('ChannelRecord')), {
      cache: 'private, no-cache',
      empty: 'The listener has not heard a title yet.',
    }),
    ...refused('unavailable', 'The process or machine that serves its stream cannot be reached now.', CORS),
  };
  return {
    '/metadata/channel/{channelkey}.json': channel('Json', content(JSON_TYPE, ref('ChannelRecord'))),
    '/metadata/channel/{channelkey}.txt': channel('Txt', content(TEXT_TYPE, { ...TEXT, pattern: '\\n$' })),
    '/metadata/station/{stationkey}.json': readable(
      'Poll',
      'pollStation',
      'The titles of all channels of a station, in configured order',
      titles,
      { parameters: [types, ifNoneMatch] },
    ),
    '/metadata/listener/{metaid}.json': readable('Poll', 'pollListener', 'What one listener hears now', heard, {
      description: 'Follows what this listener hears. WebSocket and SSE are better: they send each title at once.',
      parameters: [sync, type, ifNoneMatch],
    }),
  };
}

const STATIONS_VARY = { enum: ['Accept-Encoding', 'Accept-Encoding, Host, X-Forwarded-Proto'] };

/** `/metadata/stations.json`. No parameter can be wrong; while many requests name new hosts, it has no tag. */
export const stations: RouteDocs = () => {
  const depends = 'Accept-Encoding; without streams.publicUrl also the headers that its URLs depend on.';
  const headers = { ...COMPRESSED, Vary: header(depends, STATIONS_VARY) };
  const { 422: _, ...all } = cached(content(JSON_TYPE, list(ref('Station'))), { headers });
  return readable('Poll', 'stations', 'Every station and its channels: stream URLs, formats and titles', all, {
    description: 'Up to a second old.',
    parameters: [ifNoneMatch],
  });
};

export function covers(): Json {
  const cache = 'public, max-age=3600';
  const kept = { ...CORS, 'Cache-Control': header('How long it may be cached.', { const: cache }), ...ETAG };
  const safe = {
    'X-Content-Type-Options': header('Browsers must not guess the type.', { const: 'nosniff' }),
    'Content-Security-Policy': header('Nothing in it may run.', TEXT),
  };
  const types = [...new Set(PICTURE_TYPES.values())];
  const picture = Object.assign({}, ...types.map((one) => content(one, { ...TEXT, format: 'binary' }))) as Json;
  const responses = {
    200: { description: 'A picture.', headers: { ...kept, ...safe }, content: picture },
    304: { description: 'Unchanged: the ETag still matches.', headers: kept },
    ...refused('unavailable', 'Too many requests for pictures at once.', CORS),
  };
  const summary = "A picture from the channel's folder of covers";
  return {
    '/metadata/channel/{channelkey}/cover/{name}': readable('Poll', 'cover', summary, responses, {
      description:
        '`cover` of a record has this URL if the `covers.folder` of the channel has a picture for the id of its title.',
      parameters: [ifNoneMatch],
    }),
  };
}

export interface ReadLimits {
  /** Of the history, in one answer. */
  readonly historyEntries: number;
  /** Of one answer with more than one entry. */
  readonly historyPageBytes: number;
}

export function histories({ historyEntries: maximum, historyPageBytes }: ReadLimits): Json {
  const schema = { type: 'integer', minimum: 1, maximum, default: Math.min(50, maximum) };
  const limit = inQuery('limit', 'The maximum number of entries.', schema);
  const before = inQuery('before', 'Only entries that began before this time.', { ...TEXT, format: 'date-time' });
  const from = inQuery('from', 'Only entries that began at or after this time.', { ...TEXT, format: 'date-time' });
  const to = inQuery('to', 'The same as `before`; if both are given, the earlier counts.', {
    ...TEXT,
    format: 'date-time',
  });
  const etype = inQuery('etype', 'Only these content types: up to 16 ids and ranges, separated by commas.', {
    ...TEXT,
    pattern: '^ *\\d{1,4}(-\\d{1,4})? *(, *\\d{1,4}(-\\d{1,4})? *){0,15}$',
    example: '103,1001-1008',
  });
  const description = [
    `At most \`limit\` entries, and fewer if these would exceed ${historyPageBytes} bytes.`,
    'For the next page, set `before` to `from` of the last entry; an empty page is the end.',
  ].join(' ');
  const one = (form: string, body: Json, headers: Json = {}) => {
    const responses = {
      ...cached(body, { headers: { ...COMPRESSED, ...headers } }),
      ...refused('unavailable', 'Too many requests for pages at once.', CORS),
    };
    const summary = `What was on air, newest first, as ${form.toUpperCase()}`;
    const parameters = [limit, before, from, to, etype, ...(form === 'Csv' ? [bom] : []), ifNoneMatch];
    return readable('History', `history${form}`, summary, responses, { description, parameters });
  };
  const rows = { ...TEXT, pattern: '^\\ufeff?from,to,artist,song,etype,source,id,isrc\\r\\n' };
  const named = { 'Content-Disposition': header('A name for the file.') };
  return {
    '/metadata/channel/{channelkey}/history.json': one('Json', content(JSON_TYPE, list(ref('HistoryRecord')))),
    '/metadata/channel/{channelkey}/history.csv': one('Csv', content('text/csv; charset=utf-8', rows), named),
    '/metadata/channel/{channelkey}/history.rss': one('Rss', content('application/rss+xml; charset=utf-8', TEXT)),
  };
}
