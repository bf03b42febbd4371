/** The OpenAPI document's part for players of HLS (http/stream/hls-routes.ts). */

import { type Json, TEXT } from './json.js';
import { ifNoneMatch, inQuery } from './parameters.js';
import { readable } from './read-docs.js';
import { CORS, CORS_WHERE_SERVED, content, ETAG, header, NO_STORE, ok, optional, refused } from './responses.js';
import { admission, LISTENER_PARAMETERS } from './tune-in.js';

const TIMING = 'Pages of any origin may measure its timing.';
const ANY_ORIGIN: Json = { ...CORS, 'Timing-Allow-Origin': header(TIMING, { const: '*' }) };
const BINARY: Json = { ...TEXT, format: 'binary' };
const TOKEN: Json = { ...TEXT, pattern: '^[A-Za-z0-9_-]{22}$' };
const NO_HLS = 'There is no such mount, or its channel is not served as HLS.';

const kept = (cache: Json): Json => ({ 'Cache-Control': header('How long it may be cached.', cache) });

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
    Vary: header('Accept-Encoding; each encoding has its own ETag.', { const: 'Accept-Encoding' }),
  };
  const coding = optional('br or gzip, if accepted and smaller.', { enum: ['br', 'gzip'] });
  const body = content('application/vnd.apple.mpegurl', { ...TEXT, pattern: '^#EXTM3U\\n' });
  const responses = {
    ...ok(body, { ...headers, 'Content-Encoding': coding }),
    304: { description: 'Unchanged: the ETag still matches.', headers },
    ...refusals,
    ...refused('unavailable', 'There is no audio, even after waiting for it; or no room.', ANY_ORIGIN),
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
        'Accept-Ranges': header('none: a segment is served whole.', { const: 'none' }),
      },
      'Audio.',
    ),
    ...refused('unavailable', 'The process that has the segment did not answer in time. Retry.', ANY_ORIGIN),
    ...gone('This segment does not exist, or no longer does.'),
  };
  const found = {
    302: {
      description: 'The target has the query of this request.',
      headers: { ...ANY_ORIGIN, Location: header('The multivariant playlist.'), ...NO_STORE },
    },
    ...gone(NO_HLS),
  };
  return {
    '/{mount}/hls.m3u8': playlist('hls', {
      summary: 'The stream as HLS: the URL to open',
      description: [
        'The multivariant playlist. The first request in ten minutes waits for a segment, if the channel has audio.',
        'With a metaid or a signature, or at a mount that is not open, it admits a listener as the stream does: the playlist then names a media playlist',
        'for this listener alone, and is not cached. The same request again is the same listener.',
      ].join(' '),
      cache: 'public, max-age=10',
      parameters: LISTENER_PARAMETERS,
      refusals: admission(ANY_ORIGIN, 'The multivariant playlist there.'),
    }),
    '/{mount}/hls/live.m3u8': playlist('hlsLive', {
      summary: 'The newest segments and their titles',
      description: [
        'The media playlist. Each title is an EXT-X-DATERANGE of the class net.airsplice.title, placed exactly by EXT-X-PROGRAM-DATE-TIME, with X-TITLE,',
        'X-ARTIST, X-ETYPE, X-DURATION and X-RECORD, the id of its record. A correction has a new ID and the same START-DATE.',
        'An admitted listener ends after three target durations and five seconds without a request.',
      ].join(' '),
      cache: 'public, max-age=1',
      parameters: [inQuery('s', 'Of an admitted listener: as in its multivariant playlist.', TOKEN)],
      refusals: refused(
        'not-admitted',
        'This playlist has no listener, or it has ended: begin with hls.m3u8.',
        ANY_ORIGIN,
      ),
    }),
    '/{mount}/hls/rewind.m3u8': playlist('hlsRewind', {
      summary: 'The segments of the last hours and their titles',
      description: [
        'A media playlist like the live one, for a channel with hls.rewindHours: from the oldest kept segment to the newest. A segment without',
        'EXT-X-PROGRAM-DATE-TIME begins where the previous one ends. It is long: request it compressed.',
        'A channel that is not open to all has none (404).',
      ].join(' '),
      cache: 'public, max-age=4',
      parameters: [],
      refusals: {},
    }),
    '/{mount}/hls/{segment}': readable('Hear', 'hlsSegment', 'Some seconds of audio', segment, {
      description: [
        'Whole frames after an ID3 tag with the current title; or an MP4 fragment with its titles as events (emsg), or the initialization section',
        'that the playlist names. Its bytes never change; Range is ignored.',
      ].join(' '),
    }),
    '/{mount}.m3u8': readable('Hear', 'playlistM3u8', 'Redirects to the stream as HLS', found),
  };
}
