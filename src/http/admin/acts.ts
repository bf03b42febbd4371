/** The acts that need the rights `titles` and `operate`. Each is logged (routes.ts). */

import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { ListenerFilter } from '../../admin/admin-schema.js';
import { listenerId, type MadeToken } from '../../admin/rows.js';
import { AddressList } from '../../base/ip.js';
import { Refusal } from '../../base/refusal.js';
import { TOKEN_RIGHTS } from '../../config/admin-config.js';
import * as answers from '../../docs/admin-schemas.js';
import { heldId } from '../../metadata/record-schema.js';
import { readPush } from '../push-routes.js';
import { BLOCK, END, FALLBACK, MOVE, MOVE_ENCODER, NETWORK, ROTATE, SOURCE, TOKEN } from './bodies.js';
import type { AdminParts } from './parts.js';
import type { AdminRoutes } from './routes.js';

/** The size of a push token, the same as by `airsplice token`. */
const TOKEN_BYTES = 24;

const API = '/admin/api';
const CHANNEL = `${API}/channels/:channel`;

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
    { method: 'POST', url: `${CHANNEL}/titles`, right, act: 'push title', bodyRef: 'PushBody', answer: answers.pushed },
    { id: 'adminPush', summary: 'Push a title; the id of the current one corrects it' },
    async (request, { connection }) => {
      const channel = known(request);
      const { input, ignored } = readPush(request, pushLimits());
      const { json } = await titles.push(channel, input, connection);
      const what = { channel, type: input.type, artist: input.artist, song: input.song, ignored };
      return { what, answer: JSON.parse(json) };
    },
  );
  routes.act(
    { method: 'DELETE', url: `${CHANNEL}/titles/now`, right, act: 'clear title' },
    { id: 'adminClear', summary: 'Clear the current title' },
    async (request, { connection }) => {
      const channel = known(request);
      await titles.push(channel, { type: 'now', artist: '', song: '' }, connection);
      return { what: { channel } };
    },
  );
  routes.act(
    { method: 'DELETE', url: `${CHANNEL}/titles/next`, right, act: 'withdraw next' },
    { id: 'adminWithdrawNext', summary: 'Withdraw the following title' },
    async (request) => {
      const channel = known(request);
      found(await titles.withdraw(channel, 'next'), 'This channel has no next title.');
      return { what: { channel } };
    },
  );
  routes.act(
    { method: 'DELETE', url: `${CHANNEL}/held/:id`, right, act: 'withdraw held push' },
    { id: 'adminWithdrawHeld', summary: 'Withdraw a push that waits for its time' },
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
  routes.act(
    { method: 'POST', url: `${API}/listeners/end`, right, act: 'end listeners', body: END, answer: answers.ended },
    { id: 'adminEndListeners', summary: 'End the listeners that match all members of the body' },
    async (_request, _user, body) => {
      const filter = body();
      const ended = sum(await queries.all('end', filter));
      return { what: { ...printable(filter), ended }, answer: { ended } };
    },
  );
  routes.act(
    { method: 'DELETE', url: `${API}/listeners/:id`, right, act: 'end listener' },
    { id: 'adminEndListener', summary: 'End one listener' },
    async (request) => {
      const { id } = request.params as Named;
      const isOne = listenerId.safeParse(id).success && sum(await queries.all('end', { ids: [id] })) > 0;
      found(isOne, 'No such listener is connected.');
      return { what: { id } };
    },
  );
  routes.act(
    { method: 'POST', url: `${API}/listeners/move`, right, act: 'move listeners', body: MOVE, answer: answers.moved },
    { id: 'adminMoveListeners', summary: 'Move listeners to another channel, on the same connection' },
    async (_request, _user, body) => {
      const { to, ...filter } = body();
      if (!keys().includes(to)) throw new Refusal('not-found', 'There is no such channel.');
      const all = await queries.all('move', { filter, to });
      const answer = { moved: sum(all.map(({ moved }) => moved)), refused: sum(all.map(({ refused }) => refused)) };
      return { what: { ...printable(filter), to, ...answer }, answer };
    },
  );
  routes.act(
    { method: 'DELETE', url: `${CHANNEL}/encoder`, right, act: 'end encoder' },
    { id: 'adminEndEncoder', summary: "End the encoder's connection; it may reconnect" },
    async (request) => {
      const channel = known(request);
      found(await queries.hub('endEncoder', { channel }), 'No encoder is connected.');
      return { what: { channel } };
    },
  );
  routes.act(
    { method: 'POST', url: `${CHANNEL}/encoder/move`, right, act: 'move encoder', body: MOVE_ENCODER },
    { id: 'adminMoveEncoder', summary: 'Move the encoder to another channel, on the same connection' },
    async (request, _user, body) => {
      const channel = known(request);
      const { to } = body();
      found(keys().includes(to), 'The target channel does not exist.');
      await queries.hub('moveEncoder', { channel, to });
      return { what: { channel, to } };
    },
  );
  routes.act(
    { method: 'POST', url: `${CHANNEL}/source`, right, act: 'choose source', body: SOURCE, answer: answers.chosen },
    { id: 'adminChooseSource', summary: 'Play this source until it is released or lost' },
    async (request, _user, body) => {
      const channel = known(request);
      const { place } = body();
      return { what: { channel, place }, answer: await queries.hub('pin', { channel, place }) };
    },
  );
  routes.act(
    { method: 'DELETE', url: `${CHANNEL}/source`, right, act: 'release source', answer: answers.chosen },
    { id: 'adminReleaseSource', summary: 'Release the chosen source; the best one plays again' },
    async (request) => {
      const channel = known(request);
      return { what: { channel }, answer: await queries.hub('pin', { channel, place: null }) };
    },
  );
}

export function registerFallbackActs(routes: AdminRoutes, { queries, keys, wallMs }: AdminParts): void {
  const [right, url] = ['operate' as const, `${CHANNEL}/fallback`];
  routes.act(
    { method: 'PUT', url, right, act: 'set fallback', body: FALLBACK, answer: answers.fallback },
    { id: 'adminSetFallback', summary: 'Set the mount that stands in while the channel has no audio' },
    async (request, user, body) => {
      const channel = knownChannel(keys(), request);
      const fallback = { channel, ...body(), by: user.name, sinceMs: wallMs() };
      await queries.hub('putFallback', fallback);
      return { what: { channel, to: fallback.to }, answer: fallback };
    },
  );
  routes.act(
    { method: 'DELETE', url, right, act: 'remove fallback' },
    { id: 'adminRemoveFallback', summary: 'Remove the mount that stands in' },
    async (request) => {
      const channel = knownChannel(keys(), request);
      found(await queries.hub('removeFallback', { channel }), 'The channel has no fallback.');
      return { what: { channel } };
    },
  );
}

/** Reloads the configuration file (src/config/README.md). */
export function registerReload(routes: AdminRoutes, { reload }: AdminParts): void {
  routes.act(
    { method: 'POST', url: '/admin/reload', right: 'operate', act: 'reload', answer: answers.reloaded },
    { id: 'adminReload', summary: 'Read the configuration again, and apply it' },
    async () => {
      const plan = await reload().catch((error: Error) => {
        throw new Refusal('conflict', error.message);
      });
      const what = { changes: plan.split('\n') };
      return { what, answer: what };
    },
  );
}

export function registerBlockActs(routes: AdminRoutes, { queries, wallMs }: AdminParts): void {
  const right = 'operate';
  routes.act(
    { method: 'POST', url: `${API}/blocks`, right, act: 'block', body: BLOCK, created: answers.blocked },
    { id: 'adminBlock', summary: 'Block an address or a network for a time, and end its listeners' },
    async (_request, user, body) => {
      const { network, seconds, reason } = body();
      if (new AddressList([network]).has(user.address))
        throw new Refusal('conflict', 'This would block your own address.');
      const sinceMs = wallMs();
      const block = { network, reason, by: user.name, sinceMs, untilMs: sinceMs + seconds * 1000 };
      await queries.hub('block', block);
      const ended = sum(await queries.all('end', { address: network }));
      return { what: { network, seconds, reason, ended }, answer: { ...block, ended } };
    },
  );
  routes.act(
    { method: 'DELETE', url: `${API}/blocks/:network`, right, act: 'unblock' },
    { id: 'adminUnblock', summary: 'Unblock an address or a network' },
    async (request) => {
      const { network: asked } = request.params as Named;
      const network = NETWORK.safeParse(asked).data;
      found(
        network !== undefined && (await queries.hub('unblock', { network })),
        'This address or network is not blocked.',
      );
      return { what: { network } };
    },
  );
}

export function registerTokenActs(routes: AdminRoutes, { queries, keys, wallMs }: AdminParts): void {
  const [right, one] = [TOKEN_RIGHTS, `${API}/tokens/:id`];
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
    { method: 'POST', url: `${CHANNEL}/tokens`, right, act: 'make token', body: TOKEN, created: answers.made },
    { id: 'adminMakeToken', summary: 'Make a push token' },
    async (request, user, body) => {
      const channel = knownChannel(keys(), request);
      const { name } = body();
      const { token, made } = make(channel, name, user.name);
      await queries.hub('putToken', made);
      return { what: { channel, name, id: made.id }, answer: { id: made.id, channel, name, token } };
    },
  );
  routes.act(
    { method: 'POST', url: `${one}/rotate`, right, act: 'rotate token', body: ROTATE, created: answers.made },
    { id: 'adminRotateToken', summary: 'Replace a push token; the old one stays valid for keepSeconds' },
    async (request, user, body) => {
      const { keepSeconds } = body();
      const before = await known((request.params as Named).id);
      const { token, made } = make(before.channel, before.name, user.name);
      const untilMs = keepSeconds > 0 ? wallMs() + keepSeconds * 1000 : null;
      await queries.hub('rotateToken', { id: before.id, made, untilMs });
      const { id, channel, name } = made;
      return { what: { channel, name, id, before: before.id, keepSeconds }, answer: { id, channel, name, token } };
    },
  );
  routes.act(
    { method: 'DELETE', url: one, right: 'operate', act: 'revoke token' },
    { id: 'adminRevokeToken', summary: 'Revoke a push token that was made here' },
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
