/** The OpenAPI document's part for players and monitoring tools: playlists and statistics (http/stream/playlists.ts, http/stream/status.ts). */

import { content, inPath, inQuery } from './parameters.js';
import { readable } from './reads.js';
import { header } from './responses.js';
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
  title: 'Icecast source',
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

const sid = inQuery('sid', 'Its place among all channels as configured.', { type: 'integer', minimum: 1, default: 1 });
const json = inQuery('json', '1: as JSON.', { enum: ['1'] });

const BARE_JSON = 'application/json';
const XML = 'text/xml';

/** Members that are all there. */
function object(properties: Json): Json {
  return { type: 'object', required: Object.keys(properties), properties };
}

function icestatsSchema(): Json {
  const icestats = {
    type: 'object',
    required: ['admin', 'host', 'location', 'server_id', 'server_start', 'server_start_iso8601'],
    properties: {
      admin: text,
      host: text,
      location: text,
      server_id: text,
      server_start: text,
      server_start_iso8601: text,
      source: { oneOf: [SOURCE, { type: 'array', minItems: 2, items: SOURCE }] },
      dummy: { type: 'null' },
    },
  };
  return { type: 'object', required: ['icestats'], properties: { icestats } };
}

function statusJson(schema: Json): Json {
  return readable([], {
    operationId: 'statusJson',
    tag: 'Hear',
    summary: 'Statistics as Icecast gives them',
    description: [
      'source is an object where one channel is on air, an array where several are, and absent where none is.',
      'The same JSON is called text/xml for a client that sends neither Accept nor User-Agent, as some readers want it.',
      'Of all channels, it is up to a second old.',
    ].join(' '),
    parameters: [mountQuery],
    responses: {
      '200': { description: 'OK', headers: HEADERS, content: { ...content(BARE_JSON, schema), ...content(XML, text) } },
    },
  });
}

const zero = { const: 0, description: 'Not counted here.' };
/** As SHOUTcast names them in JSON; in XML in capitals. */
const STREAM: Json = {
  title: 'SHOUTcast stream',
  ...object({
    currentlisteners: { ...whole, description: 'Connections that play.' },
    peaklisteners: whole,
    maxlisteners: whole,
    uniquelisteners: { ...whole, description: 'Each listener once.' },
    averagetime: zero,
    servergenre: text,
    servergenre2: text,
    servergenre3: text,
    servergenre4: text,
    servergenre5: text,
    serverurl: { ...text, description: "The station's page, else the URL of the stream." },
    servertitle: text,
    songtitle: text,
    nexttitle: { ...text, description: 'The following title, where one is known.' },
    streamhits: zero,
    streamstatus: { enum: [0, 1], description: '1: on air.' },
    backupstatus: zero,
    streamlisted: zero,
    streampath: text,
    streamuptime: { ...whole, description: 'Seconds.' },
    bitrate: { type: 'string', pattern: '^\\d+$', description: 'kb/s.' },
    samplerate: { type: 'string', pattern: '^\\d+$', description: 'Hertz.' },
    content: text,
  }),
};
const SERVER: Json = {
  totalstreams: whole,
  activestreams: whole,
  currentlisteners: whole,
  peaklisteners: { ...whole, description: 'The sum of those of the channels.' },
  maxlisteners: whole,
  uniquelisteners: whole,
  averagetime: zero,
  version: text,
};

function xmlOrJson(begins: string, schema: Json): Json {
  const xml = { ...text, pattern: `^<\\?xml [^>]+\\?><SHOUTCASTSERVER>${begins}` };
  return {
    '200': { description: 'OK', headers: HEADERS, content: { ...content(XML, xml), ...content(BARE_JSON, schema) } },
  };
}

function shoutcast(): Json {
  const id = object({ id: { type: 'integer', minimum: 1 } });
  const streams = { type: 'array', items: { allOf: [id, STREAM] } };
  return {
    '/7.html': readable([], {
      operationId: 'sevenHtml',
      tag: 'Hear',
      summary: 'Statistics of one channel as SHOUTcast v1 gives them',
      description:
        'listeners,status,peak,max,unique,bitrate,song. listeners and peak are connections; unique counts each listener once.',
      parameters: [mountQuery, sid],
      responses: {
        ...ok('text/html', { ...text, pattern: '<body>\\d+,[01],\\d+,\\d+,\\d+,\\d+,[^<>]*</body>' }),
      },
    }),
    '/stats': readable([], {
      operationId: 'stats',
      tag: 'Hear',
      summary: 'Statistics of one channel as SHOUTcast v2 gives them',
      description:
        'As XML the names are in capitals. Without sid and mount it is the first channel, and in XML STREAMSTATS of /statistics follows.',
      parameters: [mountQuery, sid, json],
      responses: { ...xmlOrJson('<CURRENTLISTENERS>', { allOf: [STREAM, object({ version: text })] }) },
    }),
    '/statistics': readable([], {
      operationId: 'statistics',
      tag: 'Hear',
      summary: 'Statistics of all channels as SHOUTcast v2 gives them',
      description:
        'As XML the names are in capitals, in STREAMSTATS, with a STREAM for each channel. Up to a second old.',
      parameters: [json],
      responses: xmlOrJson('<STREAMSTATS>', object({ ...SERVER, streams })),
    }),
    '/nextsongs': readable([], {
      operationId: 'nextSongs',
      tag: 'Hear',
      summary: 'The following title of one channel as SHOUTcast v2 gives it',
      parameters: [mountQuery, sid],
      responses: {
        ...ok(XML, { ...text, pattern: '<NEXTSONGS>(<TITLE seq="1">[^<>]+</TITLE>)?</NEXTSONGS>' }),
      },
    }),
  };
}

export function statistics(): Json {
  const schema = icestatsSchema();
  return {
    '/status-json.xsl': statusJson(schema),
    '/admin/publicstats': readable([], {
      operationId: 'publicStats',
      tag: 'Hear',
      summary: 'The same as XML, as Icecast 2.5 gives it',
      description:
        'icestats with one source for each channel on air, its path in the attribute mount. Up to a second old. The same with .xml or .xsl behind the path.',
      parameters: [mountQuery],
      responses: ok(XML, { ...text, pattern: '^<\\?xml [^>]+\\?>\\n<icestats>.*</icestats>\\n$' }),
    }),
    '/admin/publicstats.json': readable([], {
      operationId: 'publicStatsJson',
      tag: 'Hear',
      summary: 'The same as /status-json.xsl',
      parameters: [mountQuery],
      responses: ok(BARE_JSON, schema),
    }),
    ...shoutcast(),
  };
}
