/**
 * HLS beside each mount `M`: public playlists and segments, which any cache may keep, and the playlists of private listeners (hls-private.ts), which
 * list the same segments. The channel makes them (src/hls); this file finds them for requests. Requests wait until there is a segment to list
 * (hls-waiting.ts).
 *
 *   M/hls.m3u8 ─► M/hls/live.m3u8 ──┬─► M/hls/{n}-{hex}.mp3, M/hls/init-{hex}.mp4          M.m3u8 ─► M/hls.m3u8
 *                 M/hls/rewind.m3u8 ┘
 *
 * Invariant: a playlist in an answer has at least one segment; a segment's name means the same bytes forever.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Counts } from '../../base/counts.js';
import { Refusal, retryLater } from '../../base/refusal.js';
import { pathOf, plainPath } from '../../base/request-target.js';
import type { Mount } from '../../channel/mount.js';
import type { HlsChannels } from '../../hls/hls-channels.js';
import type { HlsFile } from '../../hls/playlist.js';
import type { HlsCrowd } from '../../listener/hls/hls-crowd.js';
import type { Proxies } from '../../net/front/client-address.js';
import type { CompressibleBody } from '../compression.js';
import type { Exchange, HttpService } from '../http-service.js';
import { type InFlight, weightOf } from '../in-flight.js';
import { asRefusal, sendProblem } from '../problem.js';
import { READ_PREFLIGHT, readOnly } from '../reads.js';
import type { WaitingRequests } from '../waiting-requests.js';
import {
  CORS,
  MEDIA_CACHE,
  PRIVATE_CACHE,
  playlistBody,
  REWIND,
  REWIND_CACHE,
  redirect,
  sendFile,
  sendPlaylist,
  VARIANT,
  VARIANT_CACHE,
} from './hls-answers.js';
import { askedToken, type HlsPrivate, type PrivatePlayer } from './hls-private.js';
import { noHls, noSegment, RETRY_SECONDS, refuseVorbis } from './hls-refusals.js';
import { HlsWaiting } from './hls-waiting.js';
import { safeQueryOf } from './playlists.js';
import type { PublicUrl } from './public-url.js';

const PLAYLISTS = [
  ['variant', VARIANT],
  ['media', '/hls/live.m3u8'],
  ['rewind', REWIND],
] as const;
const SEGMENT = /^(.*)\/hls\/([^/]*)$/;
const LEADING = '.m3u8';

type Wanted = { readonly mount: Mount } & (
  | { readonly what: 'variant' | 'media' | 'rewind' | 'leading' }
  | { readonly what: 'segment'; readonly name: string }
);

export interface HlsServiceParts {
  readonly mounts: ReadonlyMap<string, Mount>;
  readonly channels: HlsChannels;
  readonly publicUrl: PublicUrl;
  readonly privates: HlsPrivate;
  /** Counts listeners that are not private. */
  readonly crowd: HlsCrowd;
  readonly proxies: Pick<Proxies, 'ofRequest' | 'originOf'>;
  readonly waiting: WaitingRequests;
  /** Limits rewind playlists, and segments read from files, in unfinished answers. */
  readonly inFlight: InFlight;
  onError(error: unknown): void;
}

export class HlsService implements HttpService {
  readonly role = 'stream';
  /** Numbers of answers, by `what status`. */
  readonly requests = new Counts();
  readonly #parts: HlsServiceParts;
  readonly #waiting: HlsWaiting;
  /** The last requested playlist of each window (or rewind), with its compressed forms. */
  readonly #bodies = new WeakMap<object, { readonly text: string; readonly body: CompressibleBody }>();

  constructor(parts: HlsServiceParts) {
    this.#parts = parts;
    this.#waiting = new HlsWaiting(parts.channels, parts.waiting, (response, error) => this.#refuse(response, error));
  }

  /** Requests that wait for a first segment, or for one that is cut in another process. */
  get waiting(): number {
    return this.#parts.waiting.count;
  }

  takes(path: string): boolean {
    return this.#wanted(path) !== null;
  }

  handle({ request, response }: Exchange): void {
    const { method, url } = request;
    if (method === 'OPTIONS') {
      response.writeHead(204, READ_PREFLIGHT).end();
      return;
    }
    try {
      if (method !== 'GET' && method !== 'HEAD') throw readOnly();
      const wanted = this.#wanted(pathOf(url!))!;
      response.once('close', () => {
        this.requests.add(`${wanted.what} ${response.headersSent ? response.statusCode : 'left'}`);
      });
      this.#answer(wanted, request, response);
    } catch (error) {
      this.#refuse(response, error);
    }
  }

  #wanted(path: string): Wanted | null {
    if (!path.endsWith(LEADING) && !path.includes('/hls/')) return null;
    const plain = plainPath(path);
    // If the path of a mount ends with a slash, two slashes follow, which clients and proxies may have merged.
    return this.#wantedAt(path) ?? (plain === path ? null : this.#wantedAt(plain)) ?? this.#wantedAt(plain, '/');
  }

  /** @param more appended to the path in the request to get that of the mount */
  #wantedAt(path: string, more = ''): Wanted | null {
    for (const [what, end] of PLAYLISTS) {
      const mount = path.endsWith(end) ? this.#mountAt(path.slice(0, -end.length) + more) : undefined;
      if (mount !== undefined) return { mount, what };
    }
    const [, before, name] = SEGMENT.exec(path) ?? [];
    const mount = before === undefined ? undefined : this.#mountAt(before + more);
    if (mount !== undefined) return { mount, what: 'segment', name: name! };
    const led = path.endsWith(LEADING) ? this.#mountAt(path.slice(0, -LEADING.length) + more) : undefined;
    return led === undefined ? null : { mount: led, what: 'leading' };
  }

  #mountAt(path: string): Mount | undefined {
    return this.#parts.mounts.get(path);
  }

  #answer(wanted: Wanted, request: IncomingMessage, response: ServerResponse): void {
    const { mount } = wanted;
    if (mount.hls === null) throw noHls();
    if (wanted.what === 'segment') this.#segment(wanted.mount, wanted.name, request, response);
    else if (wanted.what === 'rewind') this.#rewind(mount, request, response);
    else if (wanted.what === 'leading') {
      const url = `${this.#parts.publicUrl.of(request)}${mount.path}${VARIANT}${safeQueryOf(request.url!)}`;
      redirect(response, url);
    } else this.#playlist(mount, wanted.what, request, response);
  }

  #playlist(mount: Mount, what: 'variant' | 'media', request: IncomingMessage, response: ServerResponse): void {
    refuseVorbis(mount);
    const { privates } = this.#parts;
    if (what === 'media') this.#media(mount, request, response);
    else if (privates.isPrivate(request.url!, mount)) {
      this.#privateVariant(mount, request, response).catch((error) => this.#refuse(response, error));
    } else {
      this.#waiting.untilListed(mount, request, response, (window) => {
        this.#send(request, response, playlistBody(window.variant(nameOf(mount))), VARIANT_CACHE);
      });
    }
  }

  /** The segments of the last hours. */
  #rewind(mount: Mount, request: IncomingMessage, response: ServerResponse): void {
    if (mount.hls!.rewindHours === 0) throw new Refusal('not-found', 'This channel has no rewind.');
    refuseVorbis(mount);
    const { channels } = this.#parts;
    // A player at its end needs the source like any other.
    const channel = channels.ask(mount)!;
    const send = async () => {
      const text = await channels.rewind(mount);
      if (response.destroyed) return;
      if (text === null) throw noSegment();
      const body = this.#bodyOf(channel, text);
      this.#enter(body, weightOf(body), request, response);
      await sendPlaylist(request, response, body, REWIND_CACHE);
    };
    send().catch((error) => this.#refuse(response, error));
  }

  /** @throws Refusal if clients have left too many bytes unread */
  #enter(body: object, weight: number, request: IncomingMessage, response: ServerResponse): void {
    const { inFlight, proxies } = this.#parts;
    if (inFlight.enter(body, weight, proxies.originOf(request), response)) return;
    throw retryLater('unavailable', 'Too much of the rewind is already being sent.', RETRY_SECONDS);
  }

  #media(mount: Mount, request: IncomingMessage, response: ServerResponse): void {
    const token = askedToken(request.url!);
    if (token === null) {
      if (mount.access !== 'open')
        throw new Refusal('not-admitted', 'This mount requires authorization: begin with hls.m3u8.');
      this.#count(mount, request);
      this.#sendMedia(mount, request, response, null);
      return;
    }
    const { privates } = this.#parts;
    const onKnown = (player: PrivatePlayer) => {
      try {
        this.#sendMedia(mount, request, response, player);
      } catch (error) {
        this.#refuse(response, error);
      }
    };
    privates.player(token, mount, response, onKnown, (refusal) => this.#refuse(response, refusal));
  }

  /** @param player null: any of those that share the playlist */
  #sendMedia(mount: Mount, request: IncomingMessage, response: ServerResponse, player: PrivatePlayer | null): void {
    this.#waiting.untilListed(mount, request, response, (window, channel) => {
      const body = this.#bodyOf(window, window.playlist);
      const send = () => this.#send(request, response, body, player === null ? MEDIA_CACHE : PRIVATE_CACHE);
      // All listed segments are saved first, so that a process that takes over reuses no number.
      const written = channel.written();
      if (written === null) send();
      else void written.then(send);
      if (request.method !== 'HEAD') player?.onSent(body.bytes);
    });
  }

  #count(mount: Mount, request: IncomingMessage): void {
    const { crowd, proxies } = this.#parts;
    if (request.method === 'HEAD') return;
    const header = (name: string) => request.headers[name] as string | undefined;
    const asks = { address: proxies.ofRequest(request), header };
    crowd.asked(mount.audio.key, asks, mount.hls!.segmentSeconds * 1000);
  }

  async #privateVariant(mount: Mount, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const whenListed = () =>
      new Promise<void>((resolve, reject) =>
        this.#waiting.untilListed(mount, request, response, () => resolve(), reject),
      );
    const admittance = await this.#parts.privates.admit(request, response, mount, VARIANT, whenListed);
    if (admittance === null) return;
    if ('location' in admittance) {
      redirect(response, admittance.location);
      return;
    }
    this.#waiting.untilListed(mount, request, response, (window) => {
      const body = playlistBody(window.variant(nameOf(mount), admittance.token));
      this.#send(request, response, body, PRIVATE_CACHE);
    });
  }

  #send(request: IncomingMessage, response: ServerResponse, body: CompressibleBody, cache: string): void {
    if (response.destroyed) return;
    sendPlaylist(request, response, body, cache).catch((error) => this.#refuse(response, error));
  }

  /** @param of the window or channel of the playlist */
  #bodyOf(of: object, text: string): CompressibleBody {
    const known = this.#bodies.get(of);
    if (known?.text === text) return known.body;
    const body = playlistBody(text);
    this.#bodies.set(of, { text, body });
    return body;
  }

  #segment(mount: Mount, name: string, request: IncomingMessage, response: ServerResponse): void {
    const found = this.#parts.channels.file(mount, name);
    if (!(found instanceof Promise)) this.#sendFile(found, request, response);
    else this.#waiting.untilFound(found, response, (file) => this.#sendFile(file, request, response));
  }

  #sendFile(file: HlsFile | undefined, request: IncomingMessage, response: ServerResponse): void {
    if (file !== undefined && 'isRead' in file) this.#enter(file, file.bytes.length, request, response);
    sendFile(file, request.method, response);
  }

  #refuse(response: ServerResponse, error: unknown): void {
    if (response.destroyed) return;
    sendProblem(response, asRefusal(error, this.#parts.onError), CORS);
  }
}

/** The display name, or the key. */
function nameOf({ facts: { key, name } }: Mount): string {
  return name || key;
}
