/**
 * `/metadata/stations.json`: all stations and channels, for apps, pages and directories: URLs, formats and titles. Rendered once a second for all
 * clients (shared-text.ts); while nothing changes the body remains the same, with its ETags and compressed forms. Without streams.publicUrl its URLs
 * have the requested Host, and `Vary` says so.
 * Invariant: a flood of requests with different Hosts causes at most MAX_NEW compressions a second, and at most MAX_BODIES bodies are cached.
 */

import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import type { Clock } from '../../base/clock.js';
import * as docs from '../../docs/read-docs.js';
import { formatFacts } from '../../listener/cursor/stream-head.js';
import { CompressibleBody, compressed } from '../compression.js';
import { publicRoute, type RouteRole } from '../methods.js';
import { JSON_TYPE, matchesTag, READ_CORS, SHARED, STATIONS_PATH } from '../reads.js';
import { hlsPath, rewindPath } from './hls-answers.js';
import { isOnAir, type MountStatus } from './mount-status.js';
import type { PublicUrl } from './public-url.js';
import { reachedAt, SharedText } from './shared-text.js';

/** Made by app/worker/mount-statuses.ts, in configured order. */
export interface ListedStation {
  readonly key: string;
  readonly name: string;
  readonly timezone: string;
  readonly channels: readonly MountStatus[];
}

export interface ListingParts {
  readonly statuses: { readonly stations: readonly ListedStation[] };
  readonly publicUrl: PublicUrl;
  readonly clock: Pick<Clock, 'now'>;
}

const ROLE: RouteRole = { role: 'poll' };
const HEADERS = { ...READ_CORS, 'Cache-Control': SHARED };
/** Limit on cached bodies, one for each Host by which clients reach this server. */
const MAX_BODIES = 8;
/** Limit on new bodies in a second; beyond that the text is sent without ETag and compression. */
const MAX_NEW = 8;
const SECOND_MS = 1000;

export function registerStations(app: FastifyInstance, { statuses, publicUrl, clock }: ListingParts): void {
  const shared = new SharedText(
    ({ base }) => `[${statuses.stations.map((station) => stationJson(station, base)).join(',')}]`,
    (url) => JSON.stringify(url).slice(1, -1),
  );
  const bodies = new Bodies();
  const handler: RouteHandlerMethod = async ({ raw }, reply) => {
    const url = publicUrl.of(raw);
    const nowMs = clock.now();
    const text = shared.for(reachedAt(url), nowMs);
    const body = bodies.of(url, text, nowMs);
    const varying = { ...HEADERS, Vary: ['Accept-Encoding', publicUrl.vary].filter(Boolean).join(', ') };
    if (body === null) return reply.headers({ ...varying, 'Content-Type': JSON_TYPE }).send(Buffer.from(text));
    const form = compressed(raw, body);
    const headers = { ...varying, ETag: form.etag };
    if (matchesTag(raw.headers['if-none-match'], form.etag)) return reply.code(304).headers(headers).send();
    const bytes = await form.bytes();
    return reply.headers({ ...form.headers, ...headers, 'Content-Type': JSON_TYPE }).send(bytes);
  };
  publicRoute(app, STATIONS_PATH, ROLE, handler, { docs: docs.stations });
}

/** A cache (LRU) of the last body for each URL of the server. */
class Bodies {
  readonly #kept = new Map<string, { readonly text: string; readonly body: CompressibleBody }>();
  #second = 0;
  #made = 0;

  /** Null: too many new ones in this second. @param nowMs monotonic */
  of(url: string, text: string, nowMs: number): CompressibleBody | null {
    const kept = this.#kept.get(url);
    this.#kept.delete(url);
    if (kept?.text === text) {
      this.#kept.set(url, kept);
      return kept.body;
    }
    const second = Math.floor(nowMs / SECOND_MS);
    if (second !== this.#second) this.#made = 0;
    this.#second = second;
    if (this.#made >= MAX_NEW) return null;
    this.#made++;
    const body = new CompressibleBody(text);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= MAX_BODIES) this.#kept.delete(oldest);
    this.#kept.set(url, { text, body });
    return body;
  }
}

function stationJson({ key, name, timezone, channels }: ListedStation, base: string): string {
  const members = JSON.stringify({ stationkey: key, name, timezone }).slice(0, -1);
  return `${members},"channels":[${channels.map((channel) => channelJson(channel, base)).join(',')}]}`;
}

function channelJson(channel: MountStatus, base: string): string {
  const { mount, paths, records } = channel;
  const { facts, audio } = mount;
  const hls = hlsPath(mount, paths[0]!);
  const rewind = rewindPath(mount, paths[0]!);
  const { contentType, bitrateKbps, sampleRate, channels } = formatFacts(facts, audio);
  const members = JSON.stringify({
    channelkey: facts.key,
    name: facts.name,
    genre: facts.genre,
    url: facts.url,
    description: facts.description,
    onair: isOnAir(channel),
    type: contentType,
    bitrate: bitrateKbps,
    samplerate: sampleRate,
    channels,
    listenurls: paths.map((path) => `${base}${path}`),
    hlsUrl: hls === null ? null : `${base}${hls}`,
    rewindUrl: rewind === null ? null : `${base}${rewind}`,
  }).slice(0, -1);
  return `${members},"now":${records.now ?? 'null'},"next":${records.next ?? 'null'}}`;
}
