/**
 * The statistics that tools read (src/http/stream/README.md, "Statistics and playlists"): `/status-json.xsl` as Icecast 2.4 gives it (members
 * in its order, `source` an object for one, an array for several, absent for none, `dummy` at the end), and `/7.html` as SHOUTcast v1 does.
 * Monitoring scripts take them apart by exactly these forms, so nothing is renamed; `connections` and `typical_lag` are ours.
 *
 * A channel is one source, named by its first configured mount; `?mount=` asks for one by any of its mounts.
 */

import type { FastifyInstance } from 'fastify';
import { Refusal } from '../../base/refusal.js';
import { parameter } from '../../base/request-target.js';
import type { Mount } from '../../channel/mount.js';
import type { ListenerCounts } from '../../listener/listener-stats.js';
import { allowPreflight, type RouteRole } from '../methods.js';
import type { PublicUrl } from './public-url.js';

/** A channel as playlists and statistics see it: read at each request, never kept. Made by app/mount-statuses.ts. */
export interface MountStatus {
  readonly mount: Mount;
  /** Every path at which it can be played; statistics name the first. */
  readonly paths: readonly string[];
  /** Since when it has been on air without a gap, unix milliseconds; null: it is not. */
  readonly onAirSinceMs: number | null;
  /** The title line in force; "": none. */
  readonly title: string;
  readonly maxListeners: number;
  readonly counts: ListenerCounts;
  /** How much later than the live edge the median listener hears, milliseconds; null: nobody plays. */
  readonly typicalLagMs: number | null;
}

export interface StatusFacts {
  /** In configured order, which is also that of `sid`, from 1. */
  readonly channels: readonly MountStatus[];
  readonly publicUrl: PublicUrl;
  /** As the Server header says. */
  readonly server: string;
  /** Unix milliseconds. */
  readonly startedMs: number;
}

export const NO_STORE: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Origin': '*',
  'Cache-Control': 'no-store',
};

const ROLE: RouteRole = { role: 'stream' };
const PREFIX = '<HTML><meta http-equiv="Pragma" content="no-cache"></head><body>';

export function registerStatus(app: FastifyInstance, facts: StatusFacts): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/status-json.xsl',
    config: ROLE,
    handler: async (request, reply) =>
      reply
        .headers({ ...NO_STORE, 'Content-Type': 'application/json; charset=utf-8' })
        .send(statusJson(facts, facts.publicUrl.of(request.raw), parameter(request.raw.url!, 'mount'))),
  });
  app.route({
    method: ['GET', 'HEAD'],
    url: '/7.html',
    config: ROLE,
    handler: async (request, reply) =>
      reply
        .headers({ ...NO_STORE, 'Content-Type': 'text/html; charset=utf-8' })
        .send(sevenHtml(channelOf(facts.channels, request.raw.url!))),
  });
  for (const url of ['/status-json.xsl', '/7.html']) allowPreflight(app, url, ROLE);
}

/** @param base the URL before the mounts @param path only the channel that is played there; null: all */
function statusJson({ channels, server, startedMs }: StatusFacts, base: string, path: string | null): string {
  const asked = path === null ? channels : channels.filter(({ paths }) => paths.includes(path));
  const sources = asked.filter(isOnAir).map((channel) => sourceOf(channel, `${base}${path ?? channel.paths[0]!}`));
  const icestats = {
    // Icecast's operator names a person and a place; we know neither, and scripts find the members.
    admin: '',
    host: hostOf(base),
    location: '',
    server_id: server,
    ...times('server_start', startedMs),
    ...(sources.length === 0 ? {} : { source: sources.length === 1 ? sources[0] : sources }),
    ...(sources.length === 0 ? { dummy: null } : {}),
  };
  return JSON.stringify({ icestats });
}

/** Whether there is audio, or would be as soon as a client listens. */
function isOnAir({ mount }: MountStatus): boolean {
  return mount.hasAudio || mount.onDemand;
}

/** Without its port; an IPv6 address in brackets. */
function hostOf(base: string): string {
  return /^https?:\/\/(\[[^\]]*\]|[^:/]*)/.exec(base)?.[1] ?? '';
}

function sourceOf({ mount, counts, onAirSinceMs, title, typicalLagMs }: MountStatus, url: string) {
  const { facts } = mount;
  const { sampleRate, channels } = facts;
  const { bitrateKbps } = mount.audio;
  const audioInfo = facts.audioInfo || (bitrateKbps > 0 ? `bitrate=${bitrateKbps}` : '');
  return {
    ...(audioInfo === '' ? {} : { audio_info: audioInfo }),
    ...(bitrateKbps > 0 ? { bitrate: bitrateKbps } : {}),
    ...(channels > 0 ? { channels } : {}),
    connections: counts.connections,
    genre: facts.genre,
    listener_peak: counts.peakListeners,
    listeners: counts.listeners,
    listenurl: url,
    ...(sampleRate > 0 ? { samplerate: sampleRate } : {}),
    server_description: facts.description,
    server_name: facts.name,
    server_type: mount.audio.contentType,
    ...(facts.url === '' ? {} : { server_url: facts.url }),
    ...(onAirSinceMs === null ? {} : times('stream_start', onAirSinceMs)),
    ...(title === '' ? {} : { title }),
    ...(typicalLagMs === null ? {} : { typical_lag: Math.round(typicalLagMs) / 1000 }),
    dummy: null,
  };
}

/** `Sat, 21 Nov 2026 07:32:30 +0000`, and the same in ISO 8601 as Icecast writes it. */
function times(name: string, wallMs: number): Record<string, string> {
  const time = new Date(wallMs);
  return {
    [name]: time.toUTCString().replace('GMT', '+0000'),
    [`${name}_iso8601`]: time.toISOString().replace(/\.\d+Z$/, '+0000'),
  };
}

/** `listeners,status,peak,max,unique,bitrate,song`: readers split at the first six commas, so the song may hold more. */
function sevenHtml(channel: MountStatus): string {
  const { mount, counts, maxListeners, title } = channel;
  const { connections, peakConnections, listeners } = counts;
  const status = isOnAir(channel) ? 1 : 0;
  const figures = [connections, status, peakConnections, maxListeners, listeners, mount.audio.bitrateKbps];
  return `${PREFIX}${figures.join(',')},${escapeMarkup(title)}</body></html>`;
}

/** @throws Refusal not-found */
function channelOf(channels: readonly MountStatus[], url: string): MountStatus {
  const mount = parameter(url, 'mount');
  const sid = parameter(url, 'sid') || '1';
  const found =
    mount === null
      ? channels[/^\d{1,9}$/.test(sid) ? Number(sid) - 1 : -1]
      : channels.find(({ paths }) => paths.includes(mount));
  if (found === undefined) throw new Refusal('not-found', 'There is no such stream.');
  return found;
}

const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * For text between the tags of XML and HTML; quotes stay, since readers of `/7.html` show them as they come. What XML 1.0 cannot say
 * at all is left out.
 */
export function escapeMarkup(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ufffd]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '')
    .replace(/[&<>]/g, (character) => NAMED[character]!);
}
