/** The acts that need the rights `titles` and `operate`. Each is logged (routes.ts). */

import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { ListenerFilter, MadeToken } from '../../admin/admin-reports.js';
import { listenerId } from '../../admin/rows.js';
import { AddressList } from '../../base/ip.js';
import { Refusal } from '../../base/refusal.js';
import { TOKEN_RIGHTS } from '../../config/admin-config.js';
import { heldId } from '../../metadata/record-schema.js';
import { readPush } from '../push-routes.js';
import { BLOCK, bodyOf, END, FALLBACK, MOVE, MOVE_ENCODER, NETWORK, ROTATE, SOURCE, TOKEN } from './bodies.js';
import type { AdminParts } from './parts.js';
import type { AdminRoutes } from './routes.js';

/** The size of a push token, the same as by `airsplice token`. */
const TOKEN_BYTES = 24;

/** Path parameters. */
interface Named {
  readonly channel: string;
  readonly id: string;
  readonly network: string;
}

export function registerTitleActs(routes: AdminRoutes, { titles, keys, pushLimits, takePush }: AdminParts): void {
  const right = 'titles';
  /** The channel of the request. Takes one push from its rate. */
  const known = (request: FastifyRequest) => {
    const channel = knownChannel(keys(), request);
    takePush(channel);
    return channel;
  };
  routes.act(
    { method: 'POST', url: '/admin/api/channels/:channel/titles', right, act: 'push title' },
    async (request, { connection }) => {
      const channel = known(request);
      const { input, ignored } = readPush(request, pushLimits());
      const { json } = await titles.push(channel, input, connection);
      const what = { channel, type: input.type, artist: input.artist, song: input.song, ignored };
      return { what, answer: JSON.parse(json) };
    },
  );
  routes.act(
    { method: 'DELETE', url: '/admin/api/channels/:channel/titles/now', right, act: 'clear title' },
    async (request, { connection }) => {
      const channel = known(request);
      await titles.push(channel, { type: 'now', artist: '', song: '' }, connection);
      return { what: { channel } };
    },
  );
  routes.act(
    { method: 'DELETE', url: '/admin/api/channels/:channel/titles/next', right, act: 'withdraw next' },
    async (request) => {
      const channel = known(request);
      found(await titles.withdraw(channel, 'next'), 'This channel has no next title.');
      return { what: { channel } };
    },
  );
  routes.act(
    { method: 'DELETE', url: '/admin/api/channels/:channel/held/:id', right, act: 'withdraw held push' },
    async (request) => {
      const channel = known(request);
      const { id } = request.params as Named;
      const isHeld = heldId.safeParse(id).success && (await titles.withdraw(channel, { held: id }));
      found(isHeld, 'No push with this id is waiting.');
      return { what: { channel, id } };
    },
  );
}

export function registerConnectionActs(routes: AdminRoutes, { queries, keys }: AdminParts): void {
  const right = 'operate';
  const known = (request: FastifyRequest) => knownChannel(keys(), request);
  routes.act({ method: 'POST', url: '/admin/api/listeners/end', right, act: 'end listeners' }, async (request) => {
    const filter = bodyOf(END, request);
    const ended = sum(await queries.all('end', filter));
    return { what: { ...printable(filter), ended }, answer: { ended } };
  });
  routes.act({ method: 'DELETE', url: '/admin/api/listeners/:id', right, act: 'end listener' }, async (request) => {
    const { id } = request.params as Named;
    const isOne = listenerId.safeParse(id).success && sum(await queries.all('end', { ids: [id] })) > 0;
    found(isOne, 'No such listener is connected.');
    return { what: { id } };
  });
  routes.act({ method: 'POST', url: '/admin/api/listeners/move', right, act: 'move listeners' }, async (request) => {
    const { to, ...filter } = bodyOf(MOVE, request);
    if (!keys().includes(to)) throw new Refusal('not-found', 'There is no such channel.');
    const answers = await queries.all('move', { filter, to });
    const answer = { moved: sum(answers.map(({ moved }) => moved)), refused: sum(answers.map((each) => each.refused)) };
    return { what: { ...printable(filter), to, ...answer }, answer };
  });
  routes.act(
    { method: 'DELETE', url: '/admin/api/channels/:channel/encoder', right, act: 'end encoder' },
    async (request) => {
      const channel = known(request);
      found(await queries.hub('endEncoder', { channel }), 'No encoder is connected.');
      return { what: { channel } };
    },
  );
  routes.act(
    { method: 'POST', url: '/admin/api/channels/:channel/encoder/move', right, act: 'move encoder' },
    async (request) => {
      const channel = known(request);
      const { to } = bodyOf(MOVE_ENCODER, request);
      found(keys().includes(to), 'The target channel does not exist.');
      await queries.hub('moveEncoder', { channel, to });
      return { what: { channel, to } };
    },
  );
  routes.act(
    { method: 'POST', url: '/admin/api/channels/:channel/source', right, act: 'choose source' },
    async (request) => {
      const channel = known(request);
      const { place } = bodyOf(SOURCE, request);
      return { what: { channel, place }, answer: await queries.hub('pin', { channel, place }) };
    },
  );
  routes.act(
    { method: 'DELETE', url: '/admin/api/channels/:channel/source', right, act: 'release source' },
    async (request) => {
      const channel = known(request);
      return { what: { channel }, answer: await queries.hub('pin', { channel, place: null }) };
    },
  );
}

export function registerFallbackActs(routes: AdminRoutes, { queries, keys, wallMs }: AdminParts): void {
  const [right, url] = ['operate' as const, '/admin/api/channels/:channel/fallback'];
  routes.act({ method: 'PUT', url, right, act: 'set fallback' }, async (request, user) => {
    const channel = knownChannel(keys(), request);
    const fallback = { channel, ...bodyOf(FALLBACK, request), by: user.name, sinceMs: wallMs() };
    await queries.hub('putFallback', fallback);
    return { what: { channel, to: fallback.to }, answer: fallback };
  });
  routes.act({ method: 'DELETE', url, right, act: 'remove fallback' }, async (request) => {
    const channel = knownChannel(keys(), request);
    found(await queries.hub('removeFallback', { channel }), 'The channel has no fallback.');
    return { what: { channel } };
  });
}

/** Reloads the configuration file (src/config/README.md). */
export function registerReload(routes: AdminRoutes, { reload }: AdminParts): void {
  routes.act({ method: 'POST', url: '/admin/reload', right: 'operate', act: 'reload' }, async () => {
    const plan = await reload().catch((error: Error) => {
      throw new Refusal('conflict', error.message);
    });
    const what = { changes: plan.split('\n') };
    return { what, answer: what };
  });
}

export function registerBlockActs(routes: AdminRoutes, { queries, wallMs }: AdminParts): void {
  const right = 'operate';
  routes.act({ method: 'POST', url: '/admin/api/blocks', right, act: 'block' }, async (request, user) => {
    const { network, seconds, reason } = bodyOf(BLOCK, request);
    if (new AddressList([network]).has(user.address))
      throw new Refusal('conflict', 'This would block your own address.');
    const sinceMs = wallMs();
    const block = { network, reason, by: user.name, sinceMs, untilMs: sinceMs + seconds * 1000 };
    await queries.hub('block', block);
    const ended = sum(await queries.all('end', { address: network }));
    return { what: { network, seconds, reason, ended }, answer: { ...block, ended }, status: 201 };
  });
  routes.act({ method: 'DELETE', url: '/admin/api/blocks/:network', right, act: 'unblock' }, async (request) => {
    const { network: asked } = request.params as Named;
    const network = NETWORK.safeParse(asked).data;
    found(
      network !== undefined && (await queries.hub('unblock', { network })),
      'This address or network is not blocked.',
    );
    return { what: { network } };
  });
}

export function registerTokenActs(routes: AdminRoutes, { queries, keys, wallMs }: AdminParts): void {
  const right = TOKEN_RIGHTS;
  const make = (channel: string, name: string, by: string) => {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    const sha256 = createHash('sha256').update(token).digest('hex');
    const made: MadeToken = { id: randomUUID(), channel, name, by, sinceMs: wallMs(), sha256, untilMs: null };
    return { token, made };
  };
  const known = async (id: string): Promise<MadeToken> => {
    if (id.startsWith('config-')) {
      throw new Refusal('conflict', 'This token is set in the configuration: change it there, and reload.');
    }
    const { tokens } = await queries.hub('state', null);
    const made = tokens.find((token) => token.id === id);
    if (made === undefined) throw new Refusal('not-found', 'There is no such token.');
    return made;
  };
  routes.act(
    { method: 'POST', url: '/admin/api/channels/:channel/tokens', right, act: 'make token' },
    async (request, user) => {
      const channel = knownChannel(keys(), request);
      const { name } = bodyOf(TOKEN, request);
      const { token, made } = make(channel, name, user.name);
      await queries.hub('putToken', made);
      return { what: { channel, name, id: made.id }, answer: { id: made.id, channel, name, token }, status: 201 };
    },
  );
  routes.act(
    { method: 'POST', url: '/admin/api/tokens/:id/rotate', right, act: 'rotate token' },
    async (request, user) => {
      const { keepSeconds } = bodyOf(ROTATE, request);
      const before = await known((request.params as Named).id);
      const { token, made } = make(before.channel, before.name, user.name);
      const untilMs = keepSeconds > 0 ? wallMs() + keepSeconds * 1000 : null;
      await queries.hub('rotateToken', { id: before.id, made, untilMs });
      const { id, channel, name } = made;
      return {
        what: { channel, name, id, before: before.id, keepSeconds },
        answer: { id, channel, name, token },
        status: 201,
      };
    },
  );
  routes.act(
    { method: 'DELETE', url: '/admin/api/tokens/:id', right: 'operate', act: 'revoke token' },
    async (request) => {
      const { id, channel, name } = await known((request.params as Named).id);
      found(await queries.hub('revokeToken', { id }), 'There is no such token.');
      return { what: { channel, name, id } };
    },
  );
}

function knownChannel(keys: readonly string[], { params }: FastifyRequest): string {
  const { channel } = params as Named;
  found(keys.includes(channel), 'There is no such channel.');
  return channel;
}

/** The filter for the log, where `address` means the user's address. */
function printable({ address, ...filter }: ListenerFilter): object {
  return { ...filter, from: address };
}

function found(is: boolean, otherwise: string): void {
  if (!is) throw new Refusal('not-found', otherwise);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
