/** The OpenAPI document's part for players and monitoring tools: streams, playlists and statistics (src/http/stream/README.md). */

import { COUNT, count, type Json, list, object, TEXT, text, titled } from './json.js';
import { inHeader, inQuery, METAID_SCHEMA } from './parameters.js';
import { readable } from './read-docs.js';
import { ANY_ORIGIN, content, header, NO_STORE, ok, optional, type RouteDocs, refused } from './responses.js';

/** Bytes without end. */
const AUDIO: Json = { ...TEXT, format: 'binary' };
const AUDIO_TYPES = ['audio/mpeg', 'audio/aac', 'audio/ogg', 'application/ogg'];

/** Who listens, and by whose leave. */
export const LISTENER_PARAMETERS: readonly Json[] = [
  inQuery('metaid', 'The id of this listener, for the listener scope.', METAID_SCHEMA),
  inQuery('sabcsid', 'The older name of metaid.', { ...METAID_SCHEMA, deprecated: true }),
  inQuery('expires', 'Of a signed URL: its expiry in unix seconds.', { ...TEXT, pattern: '^\\d{1,12}$' }),
  inQuery('sig', 'Of a signed URL: its signature.', { ...TEXT, pattern: '^[0-9A-Fa-f]{64}$' }),
];

/** What a listener may be answered who is not admitted here. @param headers of each @param there what another node is asked for */
export function admission(headers: Json, there: string): Json {
  const challenge = { ...headers, 'WWW-Authenticate': header('The authentication scheme.', { pattern: '^Basic ' }) };
  const refusedBy = "The URL must be signed, or the operator's service refuses the listener.";
  return {
    302: {
      description: 'There is no room here; another node may have some.',
      headers: { ...headers, Location: header(there), ...NO_STORE },
    },
    ...refused('unauthorized', "The operator's service refuses a listener that sent no credentials.", challenge),
    ...refused('not-admitted', refusedBy, headers),
  };
}

export function streams(): Json {
  const headers = {
    ...ANY_ORIGIN,
    'Access-Control-Expose-Headers': header('icy-metaint and others.'),
    'X-Channelkey': header("The channel's key."),
    'icy-metaint': optional(
      'Bytes of audio between two title blocks, about a quarter of a second; only if requested, in Ogg only if the channel sends them.',
    ),
    'icy-name': header("The channel's name, or its key."),
    'icy-genre': optional('Its genre.'),
    'icy-url': optional("The station's page."),
    'icy-description': optional('What it is about.'),
    'icy-pub': header('1: directories may list it.'),
    'icy-version': optional('2: there is more for stream indexes (stream-meta.info).'),
    'icy-main-stream-url': optional('The main URL of the stream.'),
    'icy-logo': optional('A picture.'),
    'icy-country-code': optional('ISO 3166-1.'),
    'icy-country-subdivison-code': optional('ISO 3166-2.'),
    'icy-language-codes': optional('ISO 639, separated by commas.'),
    'icy-geo-lat-long': optional('Latitude and longitude.'),
    'icy-index-metadata': optional('1: indexes may trust these headers.'),
    'icy-do-not-index': optional('1: indexes should not list it.'),
    'icy-br': optional('kb/s.'),
    'ice-audio-info': optional('What the source sent; also bitrate=…;samplerate=…;channels=… from its frames.'),
    Server: header('As configured.'),
    'Accept-Ranges': header('none: a stream has no ranges.'),
    'Cache-Control': header('Never cached.'),
    Pragma: header('The same, for old players.'),
    Expires: header('The same: a time in the past.'),
  };
  const responses = {
    ...ok(Object.assign({}, ...AUDIO_TYPES.map((type) => content(type, AUDIO))), headers, 'Audio.'),
    ...admission(ANY_ORIGIN, 'The stream there.'),
    ...refused('not-found', 'There is no such mount.'),
    ...refused('unavailable', 'No audio now, or no room.', ANY_ORIGIN),
  };
  const more = {
    description: 'It never ends. Configured headers are added, and replace these. OpenAPI cannot describe ICY blocks.',
    parameters: [...LISTENER_PARAMETERS, inHeader('Icy-MetaData', '1: with titles.')],
  };
  return { '/{mount}': readable('Hear', 'hear', 'The stream', responses, more) };
}

const HEADERS: Json = { ...ANY_ORIGIN, ...NO_STORE };
const JSON_TYPE = 'application/json';
const XML_TYPE = 'text/xml';
const xml = (pattern: string) => content(XML_TYPE, { ...TEXT, pattern });

export function playlists(): Json {
  const description = 'Has the full URL of the stream, with the query of this request.';
  const one = (ending: string, mediaType: string, pattern: string) => {
    const responses = ok(content(mediaType, { ...TEXT, pattern }), HEADERS);
    const summary = `The stream as a playlist file: ${ending}`;
    return readable('Hear', `playlist${ending}`, summary, responses, { description });
  };
  return {
    '/{mount}.m3u': one('M3u', 'audio/x-mpegurl', '^https?://[^\\r\\n]+\\r\\n$'),
    '/{mount}.pls': one('Pls', 'audio/x-scpls', '^\\[playlist\\]\\r\\n'),
    '/{mount}.xspf': one('Xspf', 'application/xspf+xml; charset=utf-8', '^<\\?xml '),
  };
}

function infoFile(operationId: string, parameters: readonly Json[]): Json {
  const members = { type: 'object', required: ['icy-version'], properties: { 'icy-version': { const: 2 } } };
  const summary = 'A channel for stream indexes (stream-meta.info, version 2)';
  return readable('Hear', operationId, summary, ok(content(JSON_TYPE, members), HEADERS), {
    description: 'The headers of its stream as members. 404 if the configuration has no streamInfo for it.',
    parameters,
  });
}

export const streamInfo: RouteDocs = () =>
  infoFile('streamInfo', [
    inQuery('mount', 'A mount of the channel; default: the first channel with streamInfo in the configuration.'),
  ]);
export const channelStreamInfo: RouteDocs = () => infoFile('streamInfoOfChannel', []);

/** As Icecast names them; what it leaves out while there is nothing to say is not required. */
const SOURCE: Json = {
  title: 'Icecast source',
  type: 'object',
  required: [
    ...['connections', 'genre', 'listener_peak', 'listeners', 'listenurl', 'server_description', 'server_name'],
    ...['server_type', 'dummy'],
  ],
  properties: {
    audio_info: text('As the header ice-audio-info.'),
    bitrate: count('kb/s.'),
    channels: count('Audio channels, if the source names them.'),
    connections: count('Connections that play; an addition to Icecast.'),
    genre: TEXT,
    listener_peak: count('The most listeners at once since the start of the server.'),
    listeners: count('Distinct listeners, however many connections each has.'),
    listenurl: TEXT,
    samplerate: count('Hertz, if the source names it.'),
    server_description: TEXT,
    server_name: TEXT,
    server_type: TEXT,
    server_url: TEXT,
    stream_start: TEXT,
    stream_start_iso8601: TEXT,
    title: TEXT,
    typical_lag: {
      type: 'number',
      description: 'Seconds by which the median listener is behind the live edge; an addition to Icecast.',
    },
    dummy: { type: 'null' },
  },
};

const MOUNT = inQuery('mount', 'Only the channel with this mount.');
const SID = inQuery('sid', 'The channel, by its number in the configuration.', {
  type: 'integer',
  minimum: 1,
  default: 1,
});
const JSON_ASKED = inQuery('json', '1: as JSON.', { enum: ['1'] });

function icestatsSchema(): Json {
  const { type, required, properties } = object({
    admin: TEXT,
    host: TEXT,
    location: TEXT,
    server_id: TEXT,
    server_start: TEXT,
    server_start_iso8601: TEXT,
  });
  const source = { oneOf: [SOURCE, { ...list(SOURCE), minItems: 2 }] };
  const icestats = { type, required, properties: { ...(properties as Json), source, dummy: { type: 'null' } } };
  return object({ icestats });
}

const zero = { const: 0, description: 'Not counted here.' };
const digits = (description: string) => ({ ...TEXT, pattern: '^\\d+$', description });
/** As SHOUTcast names them in JSON; in XML in capitals. */
const STREAM: Json = titled('SHOUTcast stream', {
  currentlisteners: count('Connections that play.'),
  peaklisteners: COUNT,
  maxlisteners: COUNT,
  uniquelisteners: count('Distinct listeners.'),
  averagetime: zero,
  servergenre: TEXT,
  servergenre2: TEXT,
  servergenre3: TEXT,
  servergenre4: TEXT,
  servergenre5: TEXT,
  serverurl: text("The station's page, else the URL of the stream."),
  servertitle: TEXT,
  songtitle: TEXT,
  nexttitle: text('The following title; "": unknown.'),
  streamhits: zero,
  streamstatus: { enum: [0, 1], description: '1: on air.' },
  backupstatus: zero,
  streamlisted: zero,
  streampath: TEXT,
  streamuptime: count('Seconds.'),
  bitrate: digits('kb/s.'),
  samplerate: digits('Hertz.'),
  content: TEXT,
});
const SERVER: Readonly<Record<string, Json>> = {
  totalstreams: COUNT,
  activestreams: COUNT,
  currentlisteners: COUNT,
  peaklisteners: count('The sum of the peaks of all channels.'),
  maxlisteners: COUNT,
  uniquelisteners: COUNT,
  averagetime: zero,
  version: TEXT,
};

function xmlOrJson(begins: string, schema: Json): Json {
  const pattern = `^<\\?xml [^>]+\\?><SHOUTCASTSERVER>${begins}`;
  return ok({ ...xml(pattern), ...content(JSON_TYPE, schema) }, HEADERS);
}

const AS = 'as SHOUTcast v2 gives';

export const sevenHtml: RouteDocs = () => {
  const seven = content('text/html', { ...TEXT, pattern: '<body>\\d+,[01],\\d+,\\d+,\\d+,\\d+,[^<>]*</body>' });
  const summary = 'Statistics of one channel as SHOUTcast v1 gives them';
  return readable('Hear', 'sevenHtml', summary, ok(seven, HEADERS), {
    description:
      'listeners,status,peak,max,unique,bitrate,song. listeners and peak are connections; unique counts each listener once.',
    parameters: [MOUNT, SID],
  });
};

export const stats: RouteDocs = () => {
  const one = xmlOrJson('<CURRENTLISTENERS>', { allOf: [STREAM, object({ version: TEXT })] });
  return readable('Hear', 'stats', `Statistics of one channel ${AS} them`, one, {
    description:
      'XML has the names in capitals. Without sid and mount it is the first channel, and XML ends with STREAMSTATS of /statistics.',
    parameters: [MOUNT, SID, JSON_ASKED],
  });
};

export const serverStatistics: RouteDocs = () => {
  const streams = list({ allOf: [object({ id: { type: 'integer', minimum: 1 } }), STREAM] });
  const all = xmlOrJson('<STREAMSTATS>', object({ ...SERVER, streams }));
  return readable('Hear', 'statistics', `Statistics of all channels ${AS} them`, all, {
    description: 'XML has the names in capitals, in STREAMSTATS, with a STREAM for each channel. Up to a second old.',
    parameters: [JSON_ASKED],
  });
};

export const nextSongs: RouteDocs = () => {
  const next = ok(xml('<NEXTSONGS>(<TITLE seq="1">[^<>]+</TITLE>)?</NEXTSONGS>'), HEADERS);
  return readable('Hear', 'nextSongs', `The following title of one channel ${AS} it`, next, {
    parameters: [MOUNT, SID],
  });
};

export const statusJson: RouteDocs = () => {
  const body = { ...content(JSON_TYPE, icestatsSchema()), ...content(XML_TYPE, TEXT) };
  return readable('Hear', 'statusJson', 'Statistics as Icecast gives them', ok(body, HEADERS), {
    description: [
      'source is an object if one channel is on air, an array if several are, and absent if none is.',
      'A client that sends neither Accept nor User-Agent gets the same JSON as text/xml, which some programs need.',
      'Without mount it is up to a second old.',
    ].join(' '),
    parameters: [MOUNT],
  });
};

export const publicStats: RouteDocs = () => {
  const body = ok(xml('^<\\?xml [^>]+\\?>\\n<icestats>.*</icestats>\\n$'), HEADERS);
  return readable('Hear', 'publicStats', 'The same as XML, as Icecast 2.5 gives it', body, {
    description:
      'icestats with one source for each channel on air, and its path in the attribute mount. Up to a second old. Also with .xml or .xsl after the path.',
    parameters: [MOUNT],
  });
};

export const publicStatsJson: RouteDocs = () => {
  const body = ok(content(JSON_TYPE, icestatsSchema()), HEADERS);
  return readable('Hear', 'publicStatsJson', 'The same as /status-json.xsl', body, { parameters: [MOUNT] });
};
