/**
 * Icecast's own admin paths, for scripts and panels that were written for it: the elements, messages and statuses of 2.4.4, in its order; reads also as JSON
 * (`.json`), in the form of `/status-json.xsl`. A mount is any path of a channel; a client's ID is a number that is its own as long as it is
 * connected. Not there: `fallbacks`, since what plays when a source is lost are the sources of the configuration (answered with `return` 0).
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../../base/refusal.js';
import { parameter } from '../../base/request-target.js';
import type { ChannelReport, ListenerReport } from '../../link/admin-reports.js';
import { formFields, isForm } from '../../metadata/push-fields.js';
import { decodeUtf8 } from '../../metadata/text.js';
import { escapeMarkup } from '../markup.js';
import { refuseOthers, refuseWrites } from '../methods.js';
import { ADMIN_ROLE } from './access.js';
import type { AdminParts } from './parts.js';
import type { AdminRoutes } from './routes.js';

const XML_TYPE = 'text/xml; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';
const MOST_CLIENTS = 100_000;
/** No process has had as many connections: process and connection as one number. */
const OF_PROCESS = 1_000_000_000;

type Value = string | number | Members | readonly Members[];
/** `$` is the attribute `mount`. */
interface Members {
  readonly [name: string]: Value;
}

interface Response {
  readonly message: string;
  readonly done: boolean;
}

export function registerIcecastAdmin(app: FastifyInstance, routes: AdminRoutes, parts: AdminParts): void {
  const { access, queries, wallMs } = parts;
  const mountOf = async (request: FastifyRequest): Promise<ChannelReport> => {
    const mount = given(request, 'mount');
    if (mount === '') throw new Refusal('bad-request', 'Unknown admin request');
    const found = (await parts.channels()).find(({ mounts }) => mounts.includes(mount));
    if (found === undefined || found.onAir === null) throw new Refusal('bad-request', 'Source does not exist');
    return found;
  };
  const reads: Readonly<Record<string, (request: FastifyRequest) => Promise<Members>>> = {
    stats: async (request) => statsOf(parts, request, given(request, 'mount')),
    listmounts: async () => ({
      source: (await parts.channels()).filter(isOnAir).map((channel) => mountMembers(channel, wallMs())),
    }),
    listclients: async (request) => {
      const { channel } = await mountOf(request);
      const pages = await queries.all('listeners', { channel, most: MOST_CLIENTS });
      const listeners = pages.flatMap((page) => page.listeners);
      return {
        source: {
          $: given(request, 'mount'),
          Listeners: listeners.length,
          listener: listeners.map((listener) => clientMembers(listener, wallMs())),
        },
      };
    },
  };
  for (const [name, read] of Object.entries(reads)) {
    for (const form of ['', '.xml', '.json']) {
      const url = `/admin/${name}${form}`;
      app.route({
        method: ['GET', 'HEAD'],
        url,
        config: ADMIN_ROLE,
        preParsing: async (request, reply) => void (await access.requireIcecast(request, reply, 'read')),
        handler: async (request, reply) => {
          const members = await read(request);
          return form === '.json'
            ? reply.headers({ 'Content-Type': JSON_TYPE }).send(JSON.stringify({ icestats: jsonOf(members) }))
            : sendXml(reply, 'icestats', members);
        },
      });
      refuseWrites(app, url, ADMIN_ROLE);
    }
  }

  const act = (name: string, perform: (request: FastifyRequest, channel: ChannelReport) => Promise<Response>) => {
    const url = `/admin/${name}`;
    const users = new WeakMap<FastifyRequest, Awaited<ReturnType<typeof access.requireIcecast>>>();
    app.route({
      method: ['GET', 'POST'],
      url,
      config: ADMIN_ROLE,
      bodyLimit: 4096,
      preParsing: async (request, reply) => {
        users.set(request, await access.requireIcecast(request, reply, 'operate', name));
      },
      handler: async (request, reply) => {
        const user = users.get(request)!;
        const asked = Object.fromEntries(ASKED.map((each) => [each, given(request, each)]));
        const { answer } = await routes.audited(user, name, asked, async () => {
          const { message, done } = await perform(request, await mountOf(request));
          return { what: { ...asked, message, done }, answer: { message, return: done ? 1 : 0 } };
        });
        return sendXml(reply, 'iceresponse', answer as Members);
      },
    });
    refuseOthers(app, url, 'GET, POST', 'Ask with GET or POST.', ADMIN_ROLE);
  };
  act('killclient', async (request, { channel }) => {
    const id = given(request, 'id');
    if (id === '') throw new Refusal('bad-request', 'Missing parameter');
    const number = /^\d{1,15}$/.test(id) ? Number(id) : -1;
    const ids = [`${Math.floor(number / OF_PROCESS)}-${number % OF_PROCESS}`];
    const done = (await queries.all('end', { channel, ids })).some((count) => count > 0);
    return { done, message: done ? `Client ${number} removed` : `Client ${number} not found` };
  });
  act('killsource', async (_, { channel }) => {
    const done = await queries.hub('endEncoder', { channel });
    return { done, message: done ? 'Source Removed' : 'No encoder is connected' };
  });
  act('moveclients', async (request, { channel }) => {
    const [mount, destination] = [given(request, 'mount'), given(request, 'destination')];
    if (destination === '') throw new Refusal('bad-request', 'Missing parameter');
    const to = (await parts.channels()).find(({ mounts }) => mounts.includes(destination));
    if (to === undefined || to.onAir === null) throw new Refusal('bad-request', 'No such destination');
    const answers = await queries.all('move', { filter: { channel }, to: to.channel });
    const refused = answers.reduce((sum, each) => sum + each.refused, 0);
    const message = `Clients moved from ${mount} to ${destination}`;
    return refused === 0
      ? { done: true, message }
      : { done: false, message: `${message}, but for ${refused}: the formats differ` };
  });
  act('fallbacks', async () => ({ done: false, message: 'Fallbacks are sources of the configuration' }));
}

const ASKED = ['mount', 'id', 'destination', 'fallback'];

/** A parameter of the address or of a form; "": it is not there. */
function given({ url, headers, body }: FastifyRequest, name: string): string {
  const type = headers['content-type'] ?? '';
  const posted = Buffer.isBuffer(body) && isForm(type) ? formFields(body, type, '', 16).get(name)?.(decodeUtf8) : null;
  return posted ?? parameter(url, name) ?? '';
}

function isOnAir({ onAir }: ChannelReport): boolean {
  return onAir !== null;
}

async function statsOf(
  parts: AdminParts,
  { hostname, protocol, host }: FastifyRequest,
  mount: string,
): Promise<Members> {
  const channels = (await parts.channels()).filter(isOnAir);
  const listeners = channels.reduce((sum, { connections }) => sum + connections, 0);
  const encoders = channels
    .flatMap(({ sources }) => sources)
    .filter(({ kind, state }) => kind === 'encoder' && state === 'up');
  const relays = channels
    .flatMap(({ sources }) => sources)
    .filter(({ kind, state }) => kind === 'pull' && state === 'up');
  return {
    ...{ admin: '', clients: listeners + encoders.length, host: hostname, listeners, location: '' },
    ...{ server_id: parts.server, ...times('server_start', parts.startedMs) },
    ...{
      source_client_connections: encoders.length,
      source_relay_connections: relays.length,
      sources: channels.length,
    },
    source: channels
      .filter(({ mounts }) => mount === '' || mounts.includes(mount))
      .map((channel) => sourceMembers(channel, mount || channel.mounts[0]!, `${protocol}://${host}`)),
  };
}

function sourceMembers(channel: ChannelReport, mount: string, base: string): Members {
  const source = channel.sources[channel.onAir!];
  const { bitrateKbps, audioChannels, sampleRate, onAirSinceMs, title } = channel;
  return {
    $: mount,
    ...(bitrateKbps > 0 ? { bitrate: bitrateKbps } : {}),
    ...(audioChannels > 0 ? { channels: audioChannels } : {}),
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
    ...(onAirSinceMs === null ? {} : times('stream_start', onAirSinceMs)),
    ...(title === '' ? {} : { title }),
    ...(source?.agent ? { user_agent: source.agent } : {}),
  };
}

function mountMembers({ mounts, connections, contentType, onAirSinceMs }: ChannelReport, nowMs: number): Members {
  return {
    $: mounts[0]!,
    fallback: '',
    listeners: connections,
    Connected: secondsSince(onAirSinceMs ?? nowMs, nowMs),
    'content-type': contentType,
  };
}

function clientMembers({ id, address, agent, sinceMs }: ListenerReport, nowMs: number): Members {
  const [process, connection] = id.split('-').map(Number);
  const number = process! * OF_PROCESS + connection!;
  return { IP: address, UserAgent: agent, Connected: secondsSince(sinceMs, nowMs), ID: number };
}

function secondsSince(ms: number, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - ms) / 1000));
}

/** `Mon, 23 Nov 2026 23:13:00 +0000`, and the same as Icecast has ISO 8601. */
function times(name: string, ms: number): Members {
  const time = new Date(ms);
  return {
    [name]: time.toUTCString().replace('GMT', '+0000'),
    [`${name}_iso8601`]: time.toISOString().replace(/\.\d+Z$/, '+0000'),
  };
}

function sendXml(reply: FastifyReply, root: string, members: Members): FastifyReply {
  const text = `<?xml version="1.0"?>\n${element(root, members)}\n`;
  return reply.headers({ 'Content-Type': XML_TYPE }).send(text);
}

function element(name: string, value: Value): string {
  if (Array.isArray(value)) return value.map((each: Members) => element(name, each)).join('');
  if (typeof value !== 'object') return `<${name}>${escapeMarkup(String(value))}</${name}>`;
  const { $: mount, ...members } = value as Members;
  // A path holds nothing that would have to be escaped.
  const attribute = mount === undefined ? '' : ` mount="${escapeMarkup(String(mount)).replaceAll('"', '&quot;')}"`;
  const inner = Object.entries(members).map(([inside, each]) => element(inside, each));
  return `<${name}${attribute}>${inner.join('')}</${name}>`;
}

/** As `/status-json.xsl` of 2.4 has it: one of several is an object, several are an array. */
function jsonOf(value: Value): unknown {
  if (Array.isArray(value))
    return value.length === 1 ? jsonOf(value[0] as Members) : value.map((each: Members) => jsonOf(each));
  if (typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name === '$' ? 'mount' : name, jsonOf(each)]));
}
