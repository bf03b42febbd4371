/**
 * Icecast's own admin paths, for its scripts and control panels: the elements, messages and statuses of 2.4.4, in its order; each path also with
 * `.xml`, `.xsl` and `.json` (icecast-answer.ts). A mount is any path of a channel; the ID of a client is a number, unique while it is connected.
 */

import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify';
import type { ChannelReport } from '../../admin/channel-rows.js';
import type { ListenerReport } from '../../admin/rows.js';
import { Refusal } from '../../base/refusal.js';
import { parameter, plainPath } from '../../base/request-target.js';
import { icecastActDocs, icecastReadDocs } from '../../docs/admin-docs.js';
import { formFields, isForm } from '../../metadata/push-fields.js';
import { decodeUtf8 } from '../../metadata/text.js';
import { described, readRoute, refuseOthers } from '../methods.js';
import { ADMIN_ROLE, type AdminUser } from './admin-access.js';
import { FALLBACK } from './bodies.js';
import { FORMS, type Members, sendIcecast } from './icecast-answer.js';
import {
  clientId,
  clientMembers,
  isOnAir,
  listenerMembers,
  mountMembers,
  serverMembers,
  sourceMembers,
} from './icecast-members.js';
import { allListeners } from './listener-pages.js';
import type { AdminParts } from './parts.js';
import type { AdminRoutes } from './routes.js';

const MAX_CLIENTS = 100_000;
const CLIENTS_AT_ONCE = 1000;
const NO_SOURCE = 'Source does not exist';
const ASKED = ['mount', 'id', 'destination', 'fallback'];

type IcecastRead = (request: FastifyRequest) => Promise<Members>;
type IcecastAct = (request: FastifyRequest, user: AdminUser) => Promise<Response>;

interface Response {
  readonly message: string;
  readonly done: boolean;
}

export function registerIcecastAdmin(app: FastifyInstance, routes: AdminRoutes, parts: AdminParts): void {
  for (const [name, read] of Object.entries(readsOf(parts))) registerRead(app, parts, name, read);
  for (const [name, perform] of Object.entries(actsOf(parts))) registerAct(app, routes, parts, name, perform);
}

function registerRead(app: FastifyInstance, { access }: AdminParts, name: string, read: IcecastRead): void {
  for (const form of FORMS) {
    const handler: RouteHandlerMethod = async (request, reply) =>
      sendIcecast(reply, form, 'icestats', await read(request));
    readRoute(app, `/admin/${name}${form}`, handler, {
      config: ADMIN_ROLE,
      // Only forms that answer differently are described.
      docs: form === '' || form === '.json' ? icecastReadDocs(name, form === '.json') : undefined,
      preParsing: async (request, reply) => void (await access.requireIcecast(request, reply, 'read')),
    });
  }
}

function registerAct(
  app: FastifyInstance,
  routes: AdminRoutes,
  parts: AdminParts,
  name: string,
  perform: IcecastAct,
): void {
  const users = new WeakMap<FastifyRequest, AdminUser>();
  for (const form of FORMS) {
    const url = `/admin/${name}${form}`;
    app.route({
      method: ['GET', 'POST'],
      url,
      config: described(form === '' ? icecastActDocs(name, ASKED) : undefined, ADMIN_ROLE),
      bodyLimit: 4096,
      preParsing: async (request, reply) => {
        users.set(request, await parts.access.requireIcecast(request, reply, 'operate', name));
      },
      handler: async (request, reply) => {
        const asked = Object.fromEntries(ASKED.map((each) => [each, given(request, each)]));
        const user = users.get(request)!;
        const { answer } = await routes.audited(user, name, asked, async () => {
          const { message, done } = await perform(request, user);
          return { what: { ...asked, message, done }, answer: { message, return: done ? 1 : 0 } };
        });
        return sendIcecast(reply, form, 'iceresponse', answer as Members);
      },
    });
    refuseOthers(app, url, 'GET, POST', 'Use GET or POST.', ADMIN_ROLE);
  }
}

function readsOf(parts: AdminParts): Readonly<Record<string, IcecastRead>> {
  const { wallMs } = parts;
  const withListeners = async (members: Members, { channel, bitrateKbps }: ChannelReport): Promise<Members> => {
    const listeners = await listenersOf(parts, channel);
    return { ...members, listener: listeners.map((each) => listenerMembers(each, bitrateKbps, wallMs())) };
  };
  return {
    stats: async (request) => {
      const mount = givenMount(request, 'mount');
      const { base, host } = parts.reachedBy(request.raw);
      const channels = (await parts.channels()).filter(isOnAir);
      const asked = mount === '' ? channels : [await sourceOf(parts, request)];
      const source = asked.map((channel) => sourceMembers(channel, mount || channel.mounts[0]!, base));
      return {
        ...serverMembers(channels, { hostname: host, server: parts.server, startedMs: parts.startedMs }),
        // For a single mount Icecast-KH lists its listeners, too.
        source: mount === '' ? source : await Promise.all(source.map((each, i) => withListeners(each, asked[i]!))),
      };
    },
    listmounts: async (request) => {
      const isWithListeners = parameter(request.url, 'with_listeners') !== null;
      const source = (await parts.channels()).filter(isOnAir).map((channel) => {
        const members = mountMembers(channel, wallMs());
        return isWithListeners ? withListeners(members, channel) : members;
      });
      return { source: await Promise.all(source) };
    },
    listclients: async (request) => {
      const { channel } = await sourceOf(parts, request);
      const listeners = await listenersOf(parts, channel);
      const listener = listeners.map((each) => clientMembers(each, wallMs()));
      return { source: { $: { mount: givenMount(request, 'mount') }, Listeners: listeners.length, listener } };
    },
  };
}

function actsOf(parts: AdminParts): Readonly<Record<string, IcecastAct>> {
  const { queries } = parts;
  return {
    killclient: async (request) => {
      const { channel } = await sourceOf(parts, request);
      const id = needed(request, 'id');
      const number = /^\d{1,15}$/.test(id) ? Number(id) : -1;
      const done = (await queries.all('end', { channel, ids: [clientId(number)] })).some((count) => count > 0);
      return { done, message: done ? `Client ${number} removed` : `Client ${number} not found` };
    },
    killsource: async (request) => {
      const { channel } = await sourceOf(parts, request);
      const done = await queries.hub('endEncoder', { channel });
      return { done, message: done ? 'Source Removed' : 'No encoder is connected' };
    },
    moveclients: async (request) => {
      const { channel } = await sourceOf(parts, request);
      const [mount, destination] = [givenMount(request, 'mount'), plainPath(needed(request, 'destination'))];
      const to = (await parts.channels()).find(({ mounts }) => mounts.includes(destination));
      if (to === undefined || to.onAir === null) throw new Refusal('bad-request', 'No such destination');
      // As in Icecast, since two mounts of one channel are the same stream.
      if (to.channel === channel) throw new Refusal('bad-request', 'supplied mountpoints are identical');
      const answers = await queries.all('move', { filter: { channel }, to: to.channel });
      const refused = answers.reduce((sum, each) => sum + each.refused, 0);
      const message = `Clients moved from ${mount} to ${destination}`;
      return refused === 0
        ? { done: true, message }
        : { done: false, message: `${message}, but for ${refused}: the formats differ` };
    },
    // The channel need not be on air.
    fallbacks: async (request, { name: by }) => {
      const { channel } = await channelAt(parts, request);
      const to = parameterOf(request, 'fallback');
      if (to === null) throw new Refusal('bad-request', 'Missing parameter');
      if (to === '') await queries.hub('removeFallback', { channel });
      else {
        const mount = FALLBACK.shape.to.safeParse(plainPath(to)).data;
        if (mount === undefined) throw new Refusal('bad-request', 'No channel has this mount.');
        await queries
          .hub('putFallback', { channel, to: mount, by, sinceMs: parts.wallMs() })
          .catch((error: unknown) => {
            const isWrong = error instanceof Refusal && ['not-found', 'conflict'].includes(error.kind);
            throw isWrong ? new Refusal('bad-request', error.message) : error;
          });
      }
      return { done: true, message: 'Fallback configured' };
    },
  };
}

/** The channel of `mount`, which must be on air. @throws Refusal bad-request */
async function sourceOf(parts: AdminParts, request: FastifyRequest): Promise<ChannelReport> {
  const found = await channelAt(parts, request);
  if (!isOnAir(found)) throw new Refusal('bad-request', NO_SOURCE);
  return found;
}

/** The channel of `mount`, on air or not. @throws Refusal bad-request */
async function channelAt(parts: AdminParts, request: FastifyRequest): Promise<ChannelReport> {
  const mount = givenMount(request, 'mount');
  if (mount === '') throw new Refusal('bad-request', 'Unknown admin request');
  const found = (await parts.channels()).find(({ mounts }) => mounts.includes(mount));
  if (found === undefined) throw new Refusal('bad-request', NO_SOURCE);
  return found;
}

/** The complete list, as in Icecast, fetched in parts: no process reports all its listeners at once. */
function listenersOf({ queries }: AdminParts, channel: string): Promise<ListenerReport[]> {
  return allListeners(queries, { channel }, MAX_CLIENTS, CLIENTS_AT_ONCE);
}

/** @throws Refusal bad-request */
function needed(request: FastifyRequest, name: string): string {
  const value = given(request, name);
  if (value === '') throw new Refusal('bad-request', 'Missing parameter');
  return value;
}

/** A parameter of the URL or of a form; "": empty or missing. */
function given(request: FastifyRequest, name: string): string {
  return parameterOf(request, name) ?? '';
}

/** The same for a mount, in the spelling of configured mounts. */
function givenMount(request: FastifyRequest, name: string): string {
  const path = given(request, name);
  return path === '' ? '' : plainPath(path);
}

/** Null: missing. */
function parameterOf({ url, headers, body }: FastifyRequest, name: string): string | null {
  const type = headers['content-type'] ?? '';
  const posted = Buffer.isBuffer(body) && isForm(type) ? formFields(body, type, '', 16).get(name)?.(decodeUtf8) : null;
  return posted ?? parameter(url, name);
}
