/**
 * `/{mount}.m3u`, `.pls` and `.xspf`, for players that open files. Each contains the URL of one stream, with the query of the request for
 * the playlist, so that a metaid or a signature reaches the stream.
 */

import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import { pathOf } from '../../base/request-target.js';
import { escapeMarkup } from '../markup.js';
import { publicRoute, type RouteConstraints, type RouteRole } from '../methods.js';
import type { MountStatus } from './mount-status.js';
import type { PublicUrl } from './public-url.js';
import { NO_STORE } from './status-routes.js';

interface PlaylistFormat {
  readonly type: string;
  write(url: string, status: MountStatus): string;
}

/** By the ending of the path, with the content types that players expect; m3u equals that of Icecast 2.4 byte for byte. */
const PLAYLISTS: Readonly<Record<string, PlaylistFormat>> = {
  m3u: { type: 'audio/x-mpegurl', write: (url) => `${url}\r\n` },
  pls: {
    type: 'audio/x-scpls',
    write: (url, { mount }) =>
      `[playlist]\r\nNumberOfEntries=1\r\nFile1=${url}\r\nTitle1=${oneLine(mount.facts.name)}\r\nLength1=-1\r\nVersion=2\r\n`,
  },
  xspf: { type: 'application/xspf+xml; charset=utf-8', write: xspf },
};

/** Follow the path of a mount. */
export const PLAYLIST_EXTENSIONS = Object.keys(PLAYLISTS);

const ROLE: RouteRole = { role: 'stream' };
/** The constraint of the route for playlists, whose path is `/*`. */
const OF_PLAYLIST: RouteConstraints = { path: 'playlist' };
/** The end of the path in a URL. */
const PATH_END = /[?#]|$/;
/** A valid query (RFC 3986, 3.4), blanks and quotes percent-encoded. */
const QUERY = /^\?[A-Za-z0-9._~!$&()*+,;=:@/?%-]*$/;

interface MountPlaylist {
  /** Its mount's. */
  readonly path: string;
  readonly format: PlaylistFormat;
  readonly channel: MountStatus;
}

/**
 * Registers one route for the playlists of all mounts, constrained to their paths: with a route for each, a server with a thousand channels
 * would start seconds later. A mount with the same path takes precedence.
 */
export function registerPlaylists(
  app: FastifyInstance,
  statuses: { readonly channels: readonly MountStatus[] },
  publicUrl: PublicUrl,
): void {
  let { channels } = statuses;
  let playlists = playlistsOf(channels);
  const playlistAt = (path: string) => {
    if (channels !== statuses.channels) {
      channels = statuses.channels;
      playlists = playlistsOf(channels);
    }
    return playlists.get(path);
  };
  app.addConstraintStrategy({
    name: 'path',
    storage: () => {
      const routes = new Map();
      return { get: (path) => routes.get(path) ?? null, set: (path, route) => void routes.set(path, route) };
    },
    deriveConstraint: ({ url }) => (playlistAt(decodedPath(url!)) !== undefined ? OF_PLAYLIST.path : undefined),
  });
  const send: RouteHandlerMethod = async ({ raw }, reply) => {
    const { path, format, channel } = playlistAt(decodedPath(raw.url!))!;
    const url = `${publicUrl.of(raw)}${path}${safeQueryOf(raw.url!)}`;
    return reply.headers({ ...NO_STORE, 'Content-Type': format.type }).send(Buffer.from(format.write(url, channel)));
  };
  publicRoute(app, '/*', ROLE, send, { constraints: OF_PLAYLIST });
}

/** The path, decoded as by fastify's router, with single slashes as in mounts. "": broken percent-encoding, which fastify refuses. */
function decodedPath(url: string): string {
  const path = url.slice(0, url.search(PATH_END));
  try {
    return (path.includes('%') ? decodeURI(path) : path).replace(/\/{2,}/g, '/');
  } catch {
    return '';
  }
}

/** The query with its question mark; "": none, or one that is not valid in a URL. */
export function safeQueryOf(url: string): string {
  const query = url.slice(pathOf(url).length);
  return QUERY.test(query) ? query : '';
}

function oneLine(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim();
}

function xspf(url: string, { mount, title }: MountStatus): string {
  const { name, description, url: page } = mount.facts;
  const element = (tag: string, text: string) => (text === '' ? '' : `      <${tag}>${escapeMarkup(text)}</${tag}>\n`);
  const track = [
    ...[element('location', url), element('title', title || name), element('annotation', description)],
    element('info', page),
  ];
  return `<?xml version="1.0" encoding="UTF-8"?>
<playlist xmlns="http://xspf.org/ns/0/" version="1">
  <title>${escapeMarkup(name)}</title>
  <trackList>
    <track>
${track.join('')}    </track>
  </trackList>
</playlist>
`;
}

function playlistsOf(channels: readonly MountStatus[]): ReadonlyMap<string, MountPlaylist> {
  const playlists = new Map<string, MountPlaylist>();
  for (const channel of channels) {
    for (const path of channel.paths) {
      for (const [extension, format] of Object.entries(PLAYLISTS)) {
        playlists.set(`${path}.${extension}`, { path, format, channel });
      }
    }
  }
  return playlists;
}
