/** The reads that need the right `read`: JSON with the present state of all processes. */

import type { ChannelReport, TokenReport } from '../../admin/channel-rows.js';
import type { CrowdReport } from '../../admin/rows.js';
import { Refusal } from '../../base/refusal.js';
import { NOT_THERE } from '../../docs/admin-docs.js';
import * as answers from '../../docs/admin-schemas.js';
import { LISTENERS, SESSIONS, WATCHERS } from './bodies.js';
import { listenerPage } from './listener-pages.js';
import type { AdminParts } from './parts.js';
import type { AdminRoutes } from './routes.js';
import { titleReport } from './title-report.js';

export function registerReads(routes: AdminRoutes, parts: AdminParts): void {
  registerChannelReads(routes, parts);
  registerClientReads(routes, parts);
  const { queries, keys, titles, maxRefusals } = parts;
  routes.read(
    { url: '/admin/api/self', answer: answers.self },
    { id: 'adminSelf', summary: 'The user of this request, and its rights' },
    async (request) => {
      const { name, rights, login } = routes.userOf(request);
      return { name, rights, ...(login !== undefined && { loginUntilMs: login.untilMs }) };
    },
  );
  routes.read(
    { url: '/admin/api/held', answer: answers.held },
    { id: 'adminHeld', summary: 'Pushes that wait for their time' },
    async () =>
      keys().flatMap((channel) =>
        titles.held(channel).map(({ id, artist, song, startSeconds }) => {
          return { channel, id, artist, song, atMs: startSeconds * 1000 };
        }),
      ),
  );
  routes.read(
    { url: '/admin/api/refusals', answer: answers.refusals },
    { id: 'adminRefusals', summary: 'Recent refusals, newest first' },
    async () =>
      (await queries.all('refusals', null))
        .flat()
        .sort((a, b) => b.atMs - a.atMs)
        .slice(0, maxRefusals()),
  );
  routes.read(
    { url: '/admin/api/blocks', answer: answers.blocks },
    { id: 'adminBlocks', summary: 'Blocked addresses and networks' },
    async () => (await queries.hub('state', null)).blocks,
  );
  routes.read(
    { url: '/admin/api/tokens', answer: answers.tokens },
    { id: 'adminTokens', summary: 'Push tokens, and the last use of each' },
    () => tokensOf(parts),
  );
}

function registerChannelReads(routes: AdminRoutes, parts: AdminParts): void {
  const { queries, channels, titles } = parts;
  routes.read(
    { url: '/admin/api/channels', answer: answers.channels },
    { id: 'adminChannels', summary: 'Every channel: sources, listeners, titles' },
    () => channels(),
  );
  routes.read(
    { url: '/admin/api/channels/:channel', answer: answers.oneChannel, refusals: NOT_THERE },
    { id: 'adminChannel', summary: 'Details of one channel' },
    async ({ params }) => {
      const channel = await channelOf(parts, params);
      const { channel: key } = channel;
      const [depth, crowds] = await Promise.all([
        queries.hub('depth', { channel: key }),
        queries.all('crowd', { channel: key }),
      ]);
      return { ...channel, now: titleReport(titles.inForce(key)), ...depth, ...together(crowds) };
    },
  );
  routes.read(
    { url: '/admin/api/upstreams', answer: answers.upstreams },
    { id: 'adminUpstreams', summary: 'Pulled sources' },
    async () =>
      (await queries.hub('channels', null)).flatMap(({ channel, sources }) =>
        sources.filter(({ kind }) => kind === 'pull').map((source) => ({ channel, ...source })),
      ),
  );
}

/** Of clients that are connected. */
function registerClientReads(routes: AdminRoutes, { queries }: AdminParts): void {
  routes.read(
    { url: '/admin/api/listeners', query: LISTENERS, answer: answers.listeners },
    { id: 'adminListeners', summary: 'Listener connections, oldest first' },
    async (_, { limit, offset, ...filter }) => {
      const { total, listeners } = await listenerPage(queries, filter, offset, limit);
      return { total, offset, listeners };
    },
  );
  routes.read(
    { url: '/admin/api/sessions', query: SESSIONS, answer: answers.sessions },
    { id: 'adminSessions', summary: 'Listeners with a metaid, and what they hear' },
    async (_, { limit, channel }) => (await queries.all('sessions', { channel, most: limit })).flat().slice(0, limit),
  );
  routes.read(
    { url: '/admin/api/watchers', query: WATCHERS, answer: answers.watchers },
    { id: 'adminWatchers', summary: 'Clients that watch titles' },
    async (_, { limit }) => (await queries.all('watchers', { most: limit })).flat().slice(0, limit),
  );
}

/** @throws Refusal not-found */
async function channelOf({ channels }: AdminParts, params: unknown): Promise<ChannelReport> {
  const { channel } = params as { readonly channel: string };
  const found = (await channels()).find((each) => each.channel === channel);
  if (found === undefined) throw new Refusal('not-found', 'There is no such channel.');
  return found;
}

async function tokensOf({ queries, keys, configuredTokens }: AdminParts): Promise<TokenReport[]> {
  const [{ tokens }, used] = await Promise.all([queries.hub('state', null), queries.hub('used', null)]);
  const made = tokens.map(({ sha256: _, ...token }): TokenReport => {
    return { ...token, isConfigured: false, lastUsedMs: used[token.id] ?? null };
  });
  const configured = keys().flatMap((channel) =>
    Array.from({ length: configuredTokens(channel) }, (_, i): TokenReport => {
      const id = `config-${channel}-${i + 1}`;
      const lastUsedMs = used[`${channel} config-${i + 1}`] ?? null;
      const unknown = { sinceMs: null, by: null, untilMs: null };
      return { id, channel, name: '', isConfigured: true, ...unknown, lastUsedMs };
    }),
  );
  return [...configured, ...made];
}

/** The sums over all processes. */
function together(crowds: readonly CrowdReport[]): CrowdReport {
  const endings: Record<string, number> = {};
  const bySecondsBehind: number[] = [];
  for (const crowd of crowds) {
    for (const [reason, count] of Object.entries(crowd.endings)) endings[reason] = (endings[reason] ?? 0) + count;
    for (const [i, count] of crowd.bySecondsBehind.entries()) bySecondsBehind[i] = (bySecondsBehind[i] ?? 0) + count;
  }
  return { endings, bySecondsBehind };
}
