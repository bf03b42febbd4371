/** The OpenAPI document's part for players of HLS (http/stream/hls-routes.ts). */

import { type Json, TEXT } from './json.js';
import { ifNoneMatch, inQuery } from './parameters.js';
import { readable } from './read-docs.js';
import { CORS, CORS_WHERE_SERVED, content, ETAG, header, NO_STORE, ok, optional, refused } from './responses.js';
import { admission, LISTENER_PARAMETERS } from './tune-in.js';

const TIMING = 'Pages of any origin may measure how long it takes.';
const ANY_ORIGIN: Json = { ...CORS, 'Timing-Allow-Origin': header(TIMING, { const: '*' }) };
const BINARY: Json = { ...TEXT, format: 'binary' };
const TOKEN: Json = { ...TEXT, pattern: '^[A-Za-z0-9_-]{22}$' };
const NO_HLS = 'There is no such mount, or its channel is not served as HLS.';

const kept = (cache: Json): Json => ({ 'Cache-Control': header('How long it may be kept.', cache) });

const gone = (description: string): Json =>
  refused('not-found', description, {
    ...CORS_WHERE_SERVED,
    ...kept({ enum: ['no-store', 'public, max-age=1'] }),
    'Timing-Allow-Origin': optional(TIMING, { const: '*' }),
  });

interface PlaylistWords {
  readonly summary: string;
  readonly description: string;
  /** Of those that all share. */
  readonly cache: string;
  readonly parameters: readonly Json[];
  readonly refusals: Json;
}

function playlist(operationId: string, { summary, description, cache, parameters, refusals }: PlaylistWords): Json {
  const headers = {
    ...ANY_ORIGIN,
    ...kept({ enum: [cache, 'no-store'] }),
    ...ETAG,
    Vary: header('Accept-Encoding; each coding has an ETag of its own.', { const: 'Accept-Encoding' }),
  };
  const coding = optional('br or gzip, where asked for and worth it.', { enum: ['br', 'gzip'] });
  const body = content('application/vnd.apple.mpegurl', { ...TEXT, pattern: '^#EXTM3U\\n' });
  const responses = {
    ...ok(body, { ...headers, 'Content-Encoding': coding }),
    304: { description: 'Not changed since that ETag.', headers },
    ...refusals,
    ...refused('unavailable', 'There is no audio, and none came while this waited; or no room.', ANY_ORIGIN),
    ...gone(NO_HLS),
  };
  return readable('Hear', operationId, summary, responses, {
    description,
    parameters: [...parameters, ifNoneMatch],
  });
}

export function hls(): Json {
  const segment = {
    ...ok(
      { ...content('audio/mpeg', BINARY), ...content('audio/aac', BINARY), ...content('audio/mp4', BINARY) },
      {
        ...ANY_ORIGIN,
        ...kept({ const: 'public, max-age=3600, immutable' }),
        'Accept-Ranges': header('A segment is had whole.', { const: 'none' }),
      },
      'Audio.',
    ),
    ...refused('unavailable', 'It may be there soon: the process that has it has not answered in time.', ANY_ORIGIN),
    ...gone('There is no such segment, or it is there no more.'),
  };
  const found = {
    302: {
      description: 'With the query that this was asked with.',
      headers: { ...ANY_ORIGIN, Location: header('The multivariant playlist.'), ...NO_STORE },
    },
    ...gone(NO_HLS),
  };
  return {
    '/{mount}/hls.m3u8': playlist('hls', {
      summary: 'The stream as HLS: what to open',
      description: [
        'The multivariant playlist. The first request waits for a segment, where the channel has audio and nobody has asked for ten minutes.',
        'With a metaid or a signature, or at a mount that is not open, it admits a listener as the stream does: the playlist then names a media playlist',
        'of its own and is not kept by caches. The same request again is the same listener.',
      ].join(' '),
      cache: 'public, max-age=10',
      parameters: LISTENER_PARAMETERS,
      refusals: admission(ANY_ORIGIN, 'The multivariant playlist there.'),
    }),
    '/{mount}/hls/live.m3u8': playlist('hlsLive', {
      summary: 'The newest segments, and the titles in them',
      description: [
        'The media playlist. Each title is an EXT-X-DATERANGE of the class net.airsplice.title, exact by EXT-X-PROGRAM-DATE-TIME, with X-TITLE,',
        'X-ARTIST, X-ETYPE, X-DURATION and X-RECORD, the id of its record. A correction has another ID and the same START-DATE.',
        'A listener that was admitted listens as long as it asks: three target durations and five seconds without a request end it.',
      ].join(' '),
      cache: 'public, max-age=1',
      parameters: [inQuery('s', 'Of a listener that was admitted: as the multivariant playlist has it.', TOKEN)],
      refusals: refused('not-admitted', 'No listener has this playlist (any more): begin with hls.m3u8.', ANY_ORIGIN),
    }),
    '/{mount}/hls/rewind.m3u8': playlist('hlsRewind', {
      summary: 'The segments of the last hours, and the titles in them',
      description: [
        'A media playlist as the live one, of a channel with hls.rewindHours: from its oldest segment that is kept up to the newest. A segment without',
        'EXT-X-PROGRAM-DATE-TIME begins where the one before it ends. It is long, and should be asked for compressed.',
        'Only a channel that is open to all has one: elsewhere it is 404.',
      ].join(' '),
      cache: 'public, max-age=4',
      parameters: [],
      refusals: {},
    }),
    '/{mount}/hls/{segment}': readable('Hear', 'hlsSegment', 'Some seconds of audio', segment, {
      description: [
        'Whole frames behind an ID3 tag with the title in force; or a fragment of MP4 with its titles as events (emsg), and the initialization section',
        'that the playlist names. It has the same bytes for ever; Range is ignored.',
      ].join(' '),
    }),
    '/{mount}.m3u8': readable('Hear', 'playlistM3u8', 'Leads to the stream as HLS', found),
  };
}
