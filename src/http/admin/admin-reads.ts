/** The reads that need the right `read`: JSON with the present state of all processes. */

import type { ChannelReport, CrowdReport, TokenReport } from '../../admin/admin-reports.js';
import { Refusal } from '../../base/refusal.js';
import { LISTENERS, parametersOf, SOME } from './bodies.js';
import { listenerPage } from './listener-pages.js';
import type { AdminParts } from './parts.js';
import type { AdminRoutes } from './routes.js';
import { titleReport } from './title-report.js';

export function registerReads(routes: AdminRoutes, parts: AdminParts): void {
  const { queries, channels, titles } = parts;
  routes.read('/admin/api/self', async (request) => {
    const { name, rights, login } = routes.userOf(request);
    return { name, rights, ...(login !== undefined && { loginUntilMs: login.untilMs }) };
  });
  routes.read('/admin/api/channels', () => channels());
  routes.read('/admin/api/channels/:channel', async ({ params }) => {
    const channel = await channelOf(parts, params);
    const { channel: key } = channel;
    const [depth, crowds] = await Promise.all([
      queries.hub('depth', { channel: key }),
      queries.all('crowd', { channel: key }),
    ]);
    return { ...channel, now: titleReport(titles.inForce(key)), ...depth, ...together(crowds) };
  });
  routes.read('/admin/api/listeners', async (request) => {
    const { limit, offset, ...filter } = parametersOf(LISTENERS, request);
    const { total, listeners } = await listenerPage(queries, filter, offset, limit);
    return { total, offset, listeners };
  });
  routes.read('/admin/api/sessions', async (request) => {
    const { limit, channel } = parametersOf(SOME, request);
    return (await queries.all('sessions', { channel, most: limit })).flat().slice(0, limit);
  });
  routes.read('/admin/api/watchers', async (request) => {
    const { limit } = parametersOf(SOME, request);
    return (await queries.all('watchers', { most: limit })).flat().slice(0, limit);
  });
  routes.read('/admin/api/upstreams', async () =>
    (await queries.hub('channels', null)).flatMap(({ channel, sources }) =>
      sources.filter(({ kind }) => kind === 'pull').map((source) => ({ channel, ...source })),
    ),
  );
  routes.read('/admin/api/held', async () =>
    parts.keys().flatMap((channel) =>
      titles.held(channel).map(({ id, artist, song, startSeconds }) => {
        return { channel, id, artist, song, atMs: startSeconds * 1000 };
      }),
    ),
  );
  routes.read('/admin/api/refusals', async () =>
    (await queries.all('refusals', null))
      .flat()
      .sort((a, b) => b.atMs - a.atMs)
      .slice(0, parts.mostRefusals()),
  );
  routes.read('/admin/api/blocks', async () => (await queries.hub('state', null)).blocks);
  routes.read('/admin/api/tokens', () => tokensOf(parts));
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
