/**
 * The statistics that tools read (protocol.md): `/status-json.xsl` as Icecast 2.4 gives it (members in its order, `source` an object
 * for one, an array for several, absent for none, `dummy` at the end), and `/7.html` as SHOUTcast v1 does. Monitoring scripts take
 * them apart by exactly these forms, so nothing is renamed; `connections` is the one member that is ours.
 *
 * A channel is one source, named by its first configured mount; `?mount=` asks for one by any of its mounts.
 */

import type { FastifyInstance } from 'fastify';
import { Refusal } from '../../base/refusal.js';
import { parameter } from '../../base/request-target.js';
import { escapeMarkup, type MountStatus, NO_STORE } from './mount-status.js';
import { preflight } from './playlists.js';
import type { PublicUrl } from './public-url.js';

export interface StatusFacts {
  /** In configured order, which is also that of `sid`, from 1. */
  readonly shown: readonly MountStatus[];
  readonly base: PublicUrl;
  /** As the Server head says. */
  readonly server: string;
  /** Unix milliseconds. */
  readonly startedMs: number;
}

const PREFIX = '<HTML><meta http-equiv="Pragma" content="no-cache"></head><body>';

export function registerStatus(app: FastifyInstance, facts: StatusFacts): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/status-json.xsl',
    handler: async (request, reply) =>
      reply
        .headers({ ...NO_STORE, 'Content-Type': 'application/json; charset=utf-8' })
        .send(statusJson(facts, facts.base.of(request.raw), parameter(request.raw.url!, 'mount'))),
  });
  app.route({
    method: ['GET', 'HEAD'],
    url: '/7.html',
    handler: async (request, reply) =>
      reply
        .headers({ ...NO_STORE, 'Content-Type': 'text/html; charset=utf-8' })
        .send(sevenHtml(asked(facts.shown, request.raw.url!))),
  });
  for (const url of ['/status-json.xsl', '/7.html']) preflight(app, url);
}

/** @param base before the mounts @param mount only the channel that is heard there; null: all */
function statusJson({ shown, server, startedMs }: StatusFacts, base: string, mount: string | null): string {
  const told = mount === null ? shown : shown.filter(({ paths }) => paths.includes(mount));
  const sources = told.filter(({ onAir }) => onAir).map((channel) => source(channel, base, mount ?? channel.paths[0]!));
  const icestats = {
    // Icecast's operator names himself and his place; we know neither, and scripts find the members.
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

/** Without its port; an IPv6 address in brackets. */
function hostOf(base: string): string {
  return /^https?:\/\/(\[[^\]]*\]|[^:/]*)/.exec(base)?.[1] ?? '';
}

function source(shown: MountStatus, base: string, mount: string) {
  const { bitrateKbps, sampleRate, channels, tally, heardSinceMs } = shown;
  const audioInfo = shown.audioInfo || (bitrateKbps > 0 ? `bitrate=${bitrateKbps}` : '');
  return {
    ...(audioInfo === '' ? {} : { audio_info: audioInfo }),
    ...(bitrateKbps > 0 ? { bitrate: bitrateKbps } : {}),
    ...(channels > 0 ? { channels } : {}),
    connections: tally.connections,
    genre: shown.genre,
    listener_peak: tally.peakListeners,
    listeners: tally.listeners,
    listenurl: `${base}${mount}`,
    ...(sampleRate > 0 ? { samplerate: sampleRate } : {}),
    server_description: shown.description,
    server_name: shown.name,
    server_type: shown.contentType,
    ...(shown.url === '' ? {} : { server_url: shown.url }),
    ...(heardSinceMs === null ? {} : times('stream_start', heardSinceMs)),
    ...(shown.title === '' ? {} : { title: shown.title }),
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
function sevenHtml({ tally, onAir, maxListeners, bitrateKbps, title }: MountStatus): string {
  const { connections, peakConnections, listeners } = tally;
  const figures = [connections, onAir ? 1 : 0, peakConnections, maxListeners, listeners, bitrateKbps];
  return `${PREFIX}${figures.join(',')},${escapeMarkup(title)}</body></html>`;
}

/** @throws Refusal not-found */
function asked(shown: readonly MountStatus[], url: string): MountStatus {
  const mount = parameter(url, 'mount');
  const sid = parameter(url, 'sid') || '1';
  const found =
    mount === null
      ? shown[/^\d{1,9}$/.test(sid) ? Number(sid) - 1 : -1]
      : shown.find(({ paths }) => paths.includes(mount));
  if (found === undefined) throw new Refusal('not-found', 'There is no such stream.');
  return found;
}
