/** The OpenAPI document's reads: polling and history, and what all reads have in common (src/http/README.md, "Reading"). */

import {
  channelKey,
  content,
  ifNoneMatch,
  inQuery,
  metaid,
  ref,
  stationKey,
  sync,
  TEXT_TYPE,
  type,
  types,
} from './parameters.js';
import { ANYWHERE, CORS, CORS_WHERE_SERVED, header, JSON_TYPE, refused } from './responses.js';
import type { Json } from './schemas.js';

interface Read {
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly Json[];
  readonly responses: Json;
}

/** A path that is read, by pages of any origin. */
export function readable(path: readonly Json[], { operationId, tag, responses, ...rest }: Read): Json {
  return {
    parameters: path,
    get: {
      operationId,
      tags: [tag],
      ...rest,
      responses: { ...ANYWHERE, ...refused('not-found', 'Not known here.', CORS_WHERE_SERVED), ...responses },
    },
  };
}

/** Where an answer may be long. */
const COMPRESSED: Json = {
  Vary: header('Accept-Encoding; each coding has an ETag of its own.', { const: 'Accept-Encoding' }),
  'Content-Encoding': header('br or gzip, where asked for and worth it.', { enum: ['br', 'gzip'] }, false),
};

/**
 * The answers of a read that is kept by its ETag.
 * @param empty said of 204, where that is an answer @param headers of 200, which but for Content-Encoding 304 has too
 */
function cached(mediaType: string, schema: Json, cache: string, empty?: string, headers: Json = {}): Json {
  const { 'Content-Encoding': _, ...unchanged } = headers;
  const kept = { ...CORS, 'Cache-Control': header('How long it may be kept.', { const: cache }) };
  const tagged = { ...kept, ETag: header('A strong validator, for If-None-Match.', { type: 'string', pattern: '^"' }) };
  return {
    '200': { description: 'OK', headers: { ...tagged, ...headers }, content: content(mediaType, schema) },
    ...(empty === undefined ? {} : { '204': { description: empty, headers: kept } }),
    '304': { description: 'Not changed since that ETag.', headers: { ...tagged, ...unchanged } },
    ...refused('invalid', 'A parameter is invalid; all such are named.', CORS),
  };
}

const SHARED = 'public, max-age=1';
const LISTENER_HINT = 'In step with what this listener hears; WebSocket or SSE is better, which send it at once.';

export function polls(): Json {
  const one = (form: string, mediaType: string, schema: Json) =>
    readable([channelKey], {
      operationId: `pollChannel${form}`,
      tag: 'Poll',
      summary: `A channel's title as ${form.toUpperCase()}`,
      parameters: [type, ifNoneMatch],
      responses: cached(mediaType, schema, SHARED, 'Nothing was pushed yet.'),
    });
  return {
    '/metadata/channel/{channelkey}.json': one('Json', JSON_TYPE, ref('ChannelRecord')),
    '/metadata/channel/{channelkey}.txt': one('Txt', TEXT_TYPE, { type: 'string', pattern: '\\n$' }),
    '/metadata/station/{stationkey}.json': readable([stationKey], {
      operationId: 'pollStation',
      tag: 'Poll',
      summary: 'The titles of all channels of a station, in configured order',
      parameters: [types, ifNoneMatch],
      responses: cached(JSON_TYPE, { type: 'array', items: ref('ChannelRecord') }, SHARED, undefined, COMPRESSED),
    }),
    '/metadata/stations.json': readable([], {
      operationId: 'stations',
      tag: 'Poll',
      summary: 'Every station with its channels: where each is played, in which format, and its titles',
      description: 'Up to a second old.',
      parameters: [ifNoneMatch],
      responses: stationAnswers(),
    }),
    '/metadata/listener/{metaid}.json': readable([metaid], {
      operationId: 'pollListener',
      tag: 'Poll',
      summary: 'What one listener hears now',
      description: LISTENER_HINT,
      parameters: [sync, type, ifNoneMatch],
      responses: {
        ...cached(JSON_TYPE, ref('ChannelRecord'), 'private, no-cache', 'It has not heard a title yet.'),
        ...refused('unavailable', 'The process or machine that serves its stream cannot be reached for now.', CORS),
      },
    }),
  };
}

const STATIONS_VARY = { enum: ['Accept-Encoding', 'Accept-Encoding, Host, X-Forwarded-Proto'] };

/** No parameter can be wrong; under ever other hosts it has no tag. */
function stationAnswers(): Json {
  const { '422': _, ...all } = cached(JSON_TYPE, { type: 'array', items: ref('Station') }, SHARED, undefined, {
    ...COMPRESSED,
    Vary: header(
      'Accept-Encoding, and what its URLs depend on: nothing more where streams.publicUrl is set.',
      STATIONS_VARY,
    ),
  }) as Readonly<Record<string, Json>>;
  return all;
}

export interface ReadLimits {
  /** Of the history, in one answer. */
  readonly historyEntries: number;
  /** Of one answer with more than one entry. */
  readonly historyPageBytes: number;
}

export function histories({ historyEntries: maximum, historyPageBytes }: ReadLimits): Json {
  const schema = { type: 'integer', minimum: 1, maximum, default: Math.min(50, maximum) };
  const limit = inQuery('limit', 'How many at most.', schema);
  const before = inQuery('before', 'Only what began before this time.', { type: 'string', format: 'date-time' });
  const one = (form: string, mediaType: string, schema: Json, headers: Json = {}) =>
    readable([channelKey], {
      operationId: `history${form}`,
      tag: 'History',
      summary: `What was on air, newest first, as ${form.toUpperCase()}`,
      description: [
        `At most \`limit\` entries, and fewer where these would be more than ${historyPageBytes} bytes.`,
        'To read on, ask for what began `before` the `from` of the last; where there is none, that was all.',
      ].join(' '),
      parameters: [limit, before, ifNoneMatch],
      responses: {
        ...cached(mediaType, schema, SHARED, undefined, { ...COMPRESSED, ...headers }),
        ...refused('unavailable', 'Too many pages are asked for at once.', CORS),
      },
    });
  const columns = '^from,to,artist,song,etype,source,id,isrc\\r\\n';
  return {
    '/metadata/channel/{channelkey}/history.json': one('Json', JSON_TYPE, {
      type: 'array',
      items: ref('HistoryRecord'),
    }),
    '/metadata/channel/{channelkey}/history.csv': one(
      'Csv',
      'text/csv; charset=utf-8',
      { type: 'string', pattern: columns },
      { 'Content-Disposition': header('A name for the file.') },
    ),
  };
}
