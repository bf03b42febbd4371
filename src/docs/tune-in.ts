/** The OpenAPI document's part for players and monitoring tools: playlists and statistics (http/stream/playlists.ts, http/stream/status.ts). */

import { content, inPath, inQuery } from './parameters.js';
import { readable } from './reads.js';
import { CORS_WHERE_SERVED, header, JSON_TYPE, refused } from './responses.js';
import type { Json } from './schemas.js';

const HEADERS: Json = {
  'Access-Control-Allow-Origin': header('Pages of any origin may read this.', { const: '*' }),
  'Cache-Control': header('Never kept.', { const: 'no-store' }),
};
const mountPath = inPath('mount', 'A mount, which may hold slashes, or a channel key.', { type: 'string' });
const mountQuery = inQuery('mount', 'Only the channel that is played at this mount.', { type: 'string' });

function ok(mediaType: string, schema: Json): Json {
  return { '200': { description: 'OK', headers: HEADERS, content: content(mediaType, schema) } };
}

export function playlists(): Json {
  const one = (ending: string, mediaType: string, pattern: string) =>
    readable([mountPath], {
      operationId: `playlist${ending}`,
      tag: 'Hear',
      summary: `The stream as a file for players: ${ending}`,
      description: 'Names the stream by its whole URL, with the query that this was asked with.',
      parameters: [],
      responses: ok(mediaType, { type: 'string', pattern }),
    });
  return {
    '/{mount}.m3u': one('M3u', 'audio/x-mpegurl', '^https?://[^\\r\\n]+\\r\\n$'),
    '/{mount}.pls': one('Pls', 'audio/x-scpls', '^\\[playlist\\]\\r\\n'),
    '/{mount}.xspf': one('Xspf', 'application/xspf+xml; charset=utf-8', '^<\\?xml '),
  };
}

const whole = { type: 'integer', minimum: 0 };
const text = { type: 'string' };

/** As Icecast names them; what it leaves out while there is nothing to say is not required. */
const SOURCE: Json = {
  type: 'object',
  required: [
    ...['connections', 'genre', 'listener_peak', 'listeners', 'listenurl', 'server_description', 'server_name'],
    ...['server_type', 'dummy'],
  ],
  properties: {
    audio_info: { ...text, description: 'As the header ice-audio-info.' },
    bitrate: { ...whole, description: 'kb/s.' },
    channels: { ...whole, description: 'Of the audio, where the source says it.' },
    connections: { ...whole, description: 'Connections that play; not a member of Icecast’s.' },
    genre: text,
    listener_peak: { ...whole, description: 'The most listeners at once since the start of the server.' },
    listeners: { ...whole, description: 'Each once, however many connections it has.' },
    listenurl: text,
    samplerate: { ...whole, description: 'Hertz, where the source says it.' },
    server_description: text,
    server_name: text,
    server_type: text,
    server_url: text,
    stream_start: text,
    stream_start_iso8601: text,
    title: text,
    typical_lag: {
      type: 'number',
      description: 'How many seconds after the live edge the median listener hears; not a member of Icecast’s.',
    },
    dummy: { type: 'null' },
  },
};

export function statistics(): Json {
  const icestats = {
    type: 'object',
    required: ['admin', 'host', 'location', 'server_id', 'server_start', 'server_start_iso8601'],
    properties: {
      ...{ admin: text, host: text, location: text, server_id: text, server_start: text, server_start_iso8601: text },
      source: { oneOf: [SOURCE, { type: 'array', minItems: 2, items: SOURCE }] },
      dummy: { type: 'null' },
    },
  };
  return {
    '/status-json.xsl': readable([], {
      operationId: 'statusJson',
      tag: 'Hear',
      summary: 'Statistics as Icecast gives them',
      description:
        'source is an object where one channel is on air, an array where several are, and absent where none is.',
      parameters: [mountQuery],
      responses: ok(JSON_TYPE, { type: 'object', required: ['icestats'], properties: { icestats } }),
    }),
    '/7.html': readable([], {
      operationId: 'sevenHtml',
      tag: 'Hear',
      summary: 'Statistics of one channel as SHOUTcast v1 gives them',
      description:
        'listeners,status,peak,max,unique,bitrate,song. listeners and peak are connections; unique counts each listener once.',
      parameters: [
        mountQuery,
        inQuery('sid', 'Its place among all channels as configured.', { type: 'integer', minimum: 1, default: 1 }),
      ],
      responses: {
        ...ok('text/html; charset=utf-8', { ...text, pattern: '<body>\\d+,[01],\\d+,\\d+,\\d+,\\d+,[^<>]*</body>' }),
        ...refused('not-found', 'There is no such stream.', CORS_WHERE_SERVED),
      },
    }),
  };
}
