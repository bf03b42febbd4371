/** Server, sources and clients with Icecast's element names, in the order of 2.4.4; the listeners within a source as in Icecast-KH. */

import type { ChannelReport } from '../../admin/channel-rows.js';
import type { ListenerReport } from '../../admin/rows.js';
import { icecastTimes } from '../markup.js';
import type { Members } from './icecast-answer.js';

/** Combines process and connection into one number: more than a process ever has connections. */
const OF_PROCESS = 1_000_000_000;
const BYTES_OF_KBIT = 125;

export interface ServerFacts {
  readonly hostname: string;
  readonly server: string;
  readonly startedMs: number;
}

export function isOnAir({ onAir }: ChannelReport): boolean {
  return onAir !== null;
}

/** @param channels those on air */
export function serverMembers(channels: readonly ChannelReport[], facts: ServerFacts): Members {
  const listeners = channels.reduce((sum, { connections }) => sum + connections, 0);
  const sources = channels.flatMap((channel) => channel.sources).filter(({ state }) => state === 'up');
  const encoders = sources.filter(({ kind }) => kind === 'encoder').length;
  const relays = sources.filter(({ kind }) => kind === 'pull').length;
  return {
    admin: '',
    clients: listeners + encoders,
    host: facts.hostname,
    listeners,
    location: '',
    server_id: facts.server,
    ...icecastTimes('server_start', facts.startedMs),
    source_client_connections: encoders,
    source_relay_connections: relays,
    sources: channels.length,
  };
}

export function sourceMembers(channel: ChannelReport, mount: string, base: string): Members {
  const source = channel.sources[channel.onAir!];
  const { bitrateKbps, audioChannels, sampleRate, onAirSinceMs, title, fallback } = channel;
  return {
    $: { mount },
    ...(bitrateKbps > 0 ? { bitrate: bitrateKbps } : {}),
    ...(audioChannels > 0 ? { channels: audioChannels } : {}),
    ...(fallback === null ? {} : { fallback }),
    genre: channel.genre,
    listener_peak: channel.peakConnections,
    listeners: channel.connections,
    listenurl: `${base}${mount}`,
    max_listeners: channel.maxListeners ?? 'unlimited',
    public: channel.isPublic ? 1 : 0,
    ...(sampleRate > 0 ? { samplerate: sampleRate } : {}),
    server_description: channel.description,
    server_name: channel.name,
    server_type: channel.contentType,
    slow_listeners: 0,
    source_ip: source?.address ?? '',
    ...(onAirSinceMs === null ? {} : icecastTimes('stream_start', onAirSinceMs)),
    ...(title === '' ? {} : { title }),
    ...(source?.agent ? { user_agent: source.agent } : {}),
  };
}

export function mountMembers(channel: ChannelReport, nowMs: number): Members {
  const { mounts, connections, contentType, onAirSinceMs, fallback } = channel;
  return {
    $: { mount: mounts[0]! },
    fallback: fallback ?? '',
    listeners: connections,
    Connected: secondsSince(onAirSinceMs ?? nowMs, nowMs),
    'content-type': contentType,
  };
}

/** A client as in `listclients` of 2.4.4. */
export function clientMembers({ id, address, agent, sinceMs }: ListenerReport, nowMs: number): Members {
  return { IP: address, UserAgent: agent, Connected: secondsSince(sinceMs, nowMs), ID: numberOf(id) };
}

/** A listener as within a source in Icecast-KH; `lag` is in bytes. */
export function listenerMembers(listener: ListenerReport, bitrateKbps: number, nowMs: number): Members {
  const { id, address, agent, referer, lagMs, sinceMs } = listener;
  const number = numberOf(id);
  return {
    $: { id: number },
    ID: number,
    IP: address,
    ...(agent === '' ? {} : { UserAgent: agent }),
    ...(referer === '' ? {} : { Referer: referer }),
    lag: Math.max(0, Math.round((lagMs / 1000) * bitrateKbps * BYTES_OF_KBIT)),
    Connected: secondsSince(sinceMs, nowMs),
  };
}

/** The listener id for a client's number in Icecast's interface. */
export function clientId(number: number): string {
  return `${Math.floor(number / OF_PROCESS)}-${number % OF_PROCESS}`;
}

function numberOf(id: string): number {
  const [process, connection] = id.split('-').map(Number);
  return process! * OF_PROCESS + connection!;
}

function secondsSince(ms: number, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - ms) / 1000));
}
