/**
 * The status of a running server, from `/metadata/stations.json`, `/status-json.xsl`, `/readyz` and, if allowed, `/metrics`. Responses are not
 * trusted: a missing or invalid member counts as unknown.
 */

import { KEY } from '../base/key.js';
import { readSamples, type Sample } from './exposition.js';
import { answerOf, readJson, stationsOf } from './server.js';

export interface ChannelStatus {
  readonly key: string;
  readonly station: string;
  readonly name: string;
  readonly isOnAir: boolean;
  /** The kind of the source on air, or `on demand`, which connects when a client listens; null: none, or unknown. */
  readonly source: string | null;
  readonly troubles: readonly string[];
  readonly listeners: number | null;
  readonly peakListeners: number | null;
  /** The title line in force; "": none. */
  readonly title: string;
  /** How far the median listener is behind the live edge. */
  readonly lagSeconds: number | null;
}

export interface StatusReport {
  readonly url: string;
  readonly isReady: boolean;
  /** RFC 3339; null: unknown. */
  readonly startedAt: string | null;
  readonly channels: readonly ChannelStatus[];
  readonly listeners: number | null;
  readonly watchers: number | null;
  readonly workers: number | null;
  /** Whether `/metrics` could be read; if not, sources and troubles are unknown. */
  readonly hasMetrics: boolean;
}

export const ON_DEMAND = 'on demand';

type JsonMembers = Readonly<Record<string, unknown>>;

/** Rejects if the server cannot be reached, or is not airsplice. */
export async function askStatus(url: string, signal: AbortSignal): Promise<StatusReport> {
  const [ready, stations, icecast, metrics] = await Promise.all(
    ['/readyz', '/metadata/stations.json', '/status-json.xsl', '/metrics'].map((path) =>
      answerOf(`${url}${path}`, signal),
    ),
  );
  const listed = stationsOf(url, stations!);
  const icestats = membersOf(membersOf(icecast!.status === 200 ? readJson(icecast!.text) : null)['icestats']);
  const sources = listOf(icestats['source']).map(membersOf);
  const samples = metrics!.status === 200 ? readSamples(metrics!.text) : null;
  const channels = listed.map(membersOf).flatMap((station) =>
    listOf(station['channels'])
      .map(membersOf)
      .filter(({ channelkey }) => KEY.test(textOf(channelkey)))
      .map((channel) => channelReport(textOf(station['stationkey']), channel, sources, samples)),
  );
  const counts = channels.map(({ listeners }) => listeners);
  return {
    url,
    isReady: ready!.status === 200,
    startedAt: textOf(icestats['server_start_iso8601']) || null,
    channels,
    listeners: counts.includes(null) ? null : counts.reduce<number>((sum, count) => sum + count!, 0),
    watchers: firstOf(samples, 'airsplice_watchers'),
    workers: firstOf(samples, 'airsplice_workers'),
    hasMetrics: samples !== null,
  };
}

function channelReport(
  station: string,
  listed: JsonMembers,
  sources: readonly JsonMembers[],
  samples: ReadonlyMap<string, readonly Sample[]> | null,
): ChannelStatus {
  const key = textOf(listed['channelkey']);
  const isOnAir = listed['onair'] === true;
  const urls = listOf(listed['listenurls']);
  // Icecast's statistics identify a channel by its first mount.
  const source = sources.find(({ listenurl }) => urls.includes(listenurl)) ?? {};
  const ofChannel = (name: string) => samples?.get(name)?.filter(({ labels }) => labels['channel'] === key) ?? [];
  const onAir = ofChannel('airsplice_source_heard').find(({ value }) => value === 1)?.labels;
  const troubles = ofChannel('airsplice_source_trouble').filter(
    ({ labels, value }) => value === 1 && labels['place'] === onAir?.['place'],
  );
  return {
    key,
    station,
    name: textOf(listed['name']),
    isOnAir,
    source: onAir?.['kind'] ?? (samples !== null && isOnAir ? ON_DEMAND : null),
    troubles: troubles.map(({ labels }) => labels['trouble']!),
    listeners: ofChannel('airsplice_listeners')[0]?.value ?? countOf(source['listeners']),
    peakListeners: countOf(source['listener_peak']),
    title: textOf(membersOf(listed['now'])['rawdata']),
    lagSeconds: countOf(source['typical_lag']),
  };
}

function firstOf(samples: ReadonlyMap<string, readonly Sample[]> | null, name: string): number | null {
  return samples?.get(name)?.[0]?.value ?? null;
}

function membersOf(value: unknown): JsonMembers {
  return typeof value === 'object' && value !== null ? (value as JsonMembers) : {};
}

/** Icecast has an object for one element, an array for several, and no member for none. */
function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
