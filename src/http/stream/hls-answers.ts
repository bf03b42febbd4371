/** Answers to requests for HLS (hls-routes.ts): content types, caching, and CORS for any origin. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Refusal } from '../../base/refusal.js';
import type { Mount } from '../../channel/mount.js';
import type { HlsFile } from '../../hls/playlist.js';
import { CompressibleBody, sendCompressed } from '../compression.js';

export const VARIANT = '/hls.m3u8';
export const REWIND = '/hls/rewind.m3u8';
const PLAYLIST_TYPE = 'application/vnd.apple.mpegurl';
const FILE_TYPES: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  aac: 'audio/aac',
  m4s: 'audio/mp4',
  mp4: 'audio/mp4',
};
/** Headers for pages of other origins. */
export const CORS: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, Retry-After',
  'Timing-Allow-Origin': '*',
};
export const VARIANT_CACHE = 'public, max-age=10';
export const MEDIA_CACHE = 'public, max-age=1';
export const PRIVATE_CACHE = 'no-store';
export const REWIND_CACHE = 'public, max-age=4';
const SEGMENT_CACHE = 'public, max-age=3600, immutable';
/** Lets a cache answer a crowd that requests removed segments. */
const GONE_CACHE = 'public, max-age=1';
const MIN_COMPRESSED_BYTES = 1024;

/** The path of a channel's HLS; null: it has none, or its present codec cannot be served. @param path that of any of its mounts */
export function hlsPath({ hls, sends }: Mount, path: string): string | null {
  return hls !== null && sends !== 'vorbis' ? `${path}${VARIANT}` : null;
}

/** The path of a channel's rewind; null: it has none. @param path that of any of its mounts */
export function rewindPath({ hls, sends }: Mount, path: string): string | null {
  return hls !== null && hls.rewindHours > 0 && sends !== 'vorbis' ? `${path}${REWIND}` : null;
}

export function playlistBody(text: string): CompressibleBody {
  return new CompressibleBody(text, undefined, MIN_COMPRESSED_BYTES);
}

export function redirect(response: ServerResponse, url: string): void {
  response.writeHead(302, { ...CORS, Location: url, 'Cache-Control': 'no-store', 'Content-Length': 0 }).end();
}

/** Rejects, before anything is answered, if compression fails. @param cache the Cache-Control header */
export function sendPlaylist(
  request: IncomingMessage,
  response: ServerResponse,
  body: CompressibleBody,
  cache: string,
): Promise<void> {
  return sendCompressed(request, response, body, { ...CORS, 'Content-Type': PLAYLIST_TYPE, 'Cache-Control': cache });
}

/** @param file undefined: no such segment @throws Refusal not-found */
export function sendFile(file: HlsFile | undefined, method: string | undefined, response: ServerResponse): void {
  if (file === undefined) {
    throw new Refusal('not-found', 'This segment does not exist, or no longer does.', {
      headers: { 'Cache-Control': GONE_CACHE },
    });
  }
  const { bytes, name } = file;
  response.writeHead(200, {
    ...CORS,
    'Content-Type': FILE_TYPES[name.slice(name.lastIndexOf('.') + 1)]!,
    'Content-Length': bytes.length,
    'Cache-Control': SEGMENT_CACHE,
    'Accept-Ranges': 'none',
  });
  response.end(method === 'HEAD' ? undefined : bytes);
}
