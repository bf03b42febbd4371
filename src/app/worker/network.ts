/**
 * Creates everything that answers clients: encoders, listeners and readers, each with its services for the router, and pushes, the page and
 * the documents. The addresses (addresses.ts) pass connections to these.
 */

import type { AdminQueries } from '../../admin/admin-queries.js';
import { Counts, Durations } from '../../base/counts.js';
import { withGetters } from '../../base/getters.js';
import type { Mount } from '../../channel/mount.js';
import type { ServedChannel } from '../../channel/served.js';
import type { LoadedConfig } from '../../config/load.js';
import { type ApiDocuments, documents } from '../../docs/documents.js';
import { registerAcme } from '../../http/acme-route.js';
import { AdminAccess } from '../../http/admin/admin-access.js';
import { AdminLogins } from '../../http/admin/admin-logins.js';
import { registerAdmin } from '../../http/admin/api.js';
import { LiveStreams } from '../../http/admin/live-streams.js';
import type { AdminParts } from '../../http/admin/parts.js';
import { registerStatistics } from '../../http/admin/statistics-routes.js';
import { describedRoutes, registerDocuments } from '../../http/document-routes.js';
import { registerHeard } from '../../http/heard-route.js';
import { type Ops, registerOps } from '../../http/ops.js';
import type { PageSite } from '../../http/page/page-site.js';
import { type PushAnswered, type PushRates, registerPush, takePush } from '../../http/push-routes.js';
import { Readiness, type ReadinessChannel } from '../../http/readiness.js';
import { Router } from '../../http/router.js';
import { reachedAt } from '../../http/stream/shared-text.js';
import { AcmeAnswers } from '../../net/acme/acme-answers.js';
import { connectionId } from '../../net/front/tracked-connection.js';
import { Rate, type RateLimits } from '../../net/limits/rate.js';
import { StatisticsReader } from '../../statistics/queries.js';
import type { Pushes } from '../../titles/pushes.js';
import type { Core } from '../core.js';
import type { RequestCounts } from '../metrics/request-counts.js';
import { channelReports } from './channel-reports.js';
import { type Guards, makeGuards } from './guards.js';
import { Ingest, type IngestParts } from './ingest.js';
import type { MountStatuses } from './mount-statuses.js';
import { pageFacts, registerPages } from './page-facts.js';
import { type ListenerParts, Streams } from './streams.js';
import { type ReaderParts, Readers } from './worker-readers.js';

export interface NetworkParts extends ListenerParts, ReaderParts, Omit<IngestParts, 'titleSender'> {
  readonly channels: ReadonlyMap<string, ServedChannel>;
  readonly mounts: ReadonlyMap<string, Mount>;
  readonly pushes: Pushes;
  /** Each channel as playlists and statistics report it. */
  readonly statuses: MountStatuses;
  /** The processes that answer an operator's requests. */
  readonly queries: AdminQueries;
  /** As WorkerParts have it. */
  reload(): Promise<string>;
}

/** Upper bounds, seconds. */
const PUSH_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1, 5];

const CLUSTER_FRESH_MS = 1000;

export class Network {
  readonly guards: Guards;
  readonly ingest: Ingest;
  readonly streams: Streams;
  readonly readers: Readers;
  readonly router: Router;
  readonly requests: RequestCounts;
  /** Who may ask at /admin. */
  readonly adminAccess: AdminAccess;
  #live: LiveStreams | null = null;
  readonly #core: Core;
  readonly #parts: NetworkParts;
  #site: PageSite;
  /** Null: not requested yet. */
  #documents: Promise<ApiDocuments> | null = null;
  #pushLimits: LoadedConfig['limits'];

  constructor(core: Core, parts: NetworkParts) {
    const { config, clock, log, onError } = core;
    const { limits } = config;
    this.#core = core;
    this.#parts = parts;
    this.#site = pageFacts(config, { statuses: parts.statuses, clock, onError });
    this.#pushLimits = { ...limits };
    this.guards = makeGuards(core);
    this.adminAccess = new AdminAccess(
      {
        ...this.guards,
        onRefused: ({ act, user, why, ...refused }) => {
          if (act === null) core.refusals.warn(refused, 'admin refused', { user: user ?? undefined, why });
          else core.refusals.warn(refused, 'admin act refused', { user, act, outcome: 'refused', why });
        },
      },
      () => config.admin.users,
      new AdminLogins(config, clock),
    );
    const titleSender: IngestParts['titleSender'] = (headers) => this.adminAccess.titleSender(headers);
    this.ingest = new Ingest(core, this.guards, { ...parts, titleSender });
    this.streams = new Streams(core, this.guards, parts.mounts, parts);
    this.readers = new Readers(core, this.guards, parts);
    this.requests = {
      pushes: new Counts(),
      pushDurations: new Durations(PUSH_SECONDS),
      encoders: parts.verdicts.counts,
      hookVerdicts: this.streams.hookVerdicts,
      encoderHookVerdicts: this.ingest.hooks.verdicts,
    };
    this.router = new Router({
      connections: this.guards.connections,
      services: [...this.streams.services, ...this.ingest.services, ...this.readers.services],
      upgrades: this.readers.upgrades,
      watchdog: clock.watchdog,
      isBlocked: (request) => this.guards.blocks.has(this.guards.proxies.ofRequest(request)),
      headBytes: limits.httpHeadBytes,
      limits,
      // Never what it asked for: that may hold a token.
      onNotFound: (request, reason) =>
        log.debug(
          {
            connection: connectionId(request.socket),
            address: this.guards.proxies.ofRequest(request),
            status: 404,
            reason,
          },
          'nothing there',
        ),
      onError,
    });
  }

  /** Registers the routes of fastify; resolves when requests can be answered. */
  async ready(ops: Omit<Ops, 'cluster'>): Promise<void> {
    const { app } = this.router;
    const { config, clock } = this.#core;
    const described = describedRoutes(app);
    // First: it teaches the router what a playlist is, which then checks every existing route again.
    this.streams.register(app, this.#parts.statuses);
    const rates = this.#pushRates();
    this.#registerPush(rates);
    const proofs = new AcmeAnswers(config, clock);
    registerAcme(app, (host, token) => proofs.answer(host, token));
    registerHeard(app, this.#parts.reports, () => Math.ceil(config.sessions.reportSeconds));
    registerOps(
      app,
      Object.assign(ops, { cluster: this.#clusterReport() }),
      new Readiness(() => this.#readinessChannels(), clock),
    );
    this.#registerAdmin(rates);
    registerStatistics(app, {
      access: this.adminAccess,
      clock,
      reader: new StatisticsReader(this.#parts.history, () => config.statistics.answerRows),
      stations: () => countedStations(config),
    });
    registerDocuments(
      app,
      () => (this.#documents ??= documents(config.limits, described)),
      (request) => this.router.notFound(request),
    );
    registerPages(app, { config, site: () => this.#site, publicUrl: this.streams.publicUrl, clock });
    await this.router.ready();
  }

  /** Asked of the hub once a second at most, however many want to know. */
  #clusterReport(): Ops['cluster'] {
    const { clock } = this.#core;
    let report: Promise<object | null> | null = null;
    let untilMs = Number.NEGATIVE_INFINITY;
    return () => {
      if (report === null || clock.now() >= untilMs) {
        untilMs = clock.now() + CLUSTER_FRESH_MS;
        report = this.#parts.queries.hub('cluster', null);
        report.catch(() => undefined);
      }
      return report;
    };
  }

  /** Another configuration is in force, with the present channels and mounts: renders anew what depends on it. */
  refresh(): void {
    const { config, clock, onError } = this.#core;
    const { trusted, head } = config.proxies;
    this.guards.proxies.change(trusted, head);
    this.ingest.refresh();
    this.#parts.statuses.refresh();
    this.router.refresh();
    this.#site = pageFacts(config, { statuses: this.#parts.statuses, clock, onError });
    this.#documents = null;
    this.#pushLimits = { ...config.limits };
    this.#live?.refresh();
  }

  /** Accepts no more clients; streams end with a whole frame, watchers get 1001. Pushes under way go on. */
  drain(): void {
    this.streams.close();
    this.guards.gate.close();
    this.readers.watch.watchers.close();
    this.#live?.close();
    this.#parts.audience.endAll('shutdown');
    this.ingest.close();
  }

  /** Closes what is idle; resolves when the router is closed. */
  async close(): Promise<void> {
    this.readers.polls.close();
    await this.router.close();
  }

  /** Disconnects the watchers and requests that are left. */
  terminate(): void {
    this.readers.watch.watchers.terminate();
    this.router.terminate();
  }

  #readinessChannels(): ReadinessChannel[] {
    const { order, stations } = this.#core.config;
    return order.flatMap(({ station, channels }) =>
      channels.map((key) => {
        const kinds = stations[station]!.channels[key]!.sources.map(({ type }) => type);
        return { station, kinds, channel: this.#parts.channels.get(key)! };
      }),
    );
  }

  #registerAdmin(rates: Pick<PushRates, 'pushes' | 'refusedPushes'>): void {
    const { config, clock, log } = this.#core;
    const { queries, pushes, channels, statuses } = this.#parts;
    const held = (channel: string) => pushes.held(channel).length;
    const parts: AdminParts = {
      access: this.adminAccess,
      reachedBy: (request) => reachedAt(this.streams.publicUrl.of(request)),
      isSecure: (request) => this.streams.publicUrl.isSecure(request),
      queries,
      log,
      titles: pushes,
      pushLimits: () => this.#pushLimits,
      takePush: (channel) => takePush(rates, channel),
      get server() {
        return config.streams.server;
      },
      startedMs: clock.wallMs(),
      keys: () => [...channels.keys()],
      channels: async () => {
        const { channels: all } = statuses;
        return channelReports(await queries.hub('channels', null), { statuses: all, config, held });
      },
      configuredTokens: (channel) => channels.get(channel)?.rules.tokens ?? 0,
      reload: () => this.#parts.reload(),
      maxRefusals: () => config.admin.refusals,
      maxStreams: () => config.admin.streams,
      wallMs: () => clock.wallMs(),
    };
    this.#live = new LiveStreams(parts);
    registerAdmin(this.router.app, parts, this.#live);
  }

  #registerPush(rates: Pick<PushRates, 'pushes' | 'refusedPushes'>): void {
    const { pushes } = this.#parts;
    const target = {
      authorizes: (channel: string, token: string) => pushes.authorizes(channel, token),
      push: pushes.push.bind(pushes),
      onIgnored: pushes.ignored.bind(pushes),
      onPublished: (tookMs: number) => this.requests.pushDurations.add(tookMs / 1000),
      onAnswered: (answered: PushAnswered) => this.#onPushAnswered(answered),
    };
    registerPush(this.router.app, target, () => this.#pushLimits, { ...this.guards, ...rates });
  }

  #pushRates(): Pick<PushRates, 'pushes' | 'refusedPushes'> {
    const { config, clock, tallies } = this.#core;
    const { limits } = config;
    const rate = withGetters<RateLimits>({
      perMinute: () => limits.pushesPerMinute,
      burst: () => limits.pushBurst,
      remembered: () => this.#parts.channels.size,
    });
    return {
      pushes: new Rate(clock, rate, tallies.notices('pushes')),
      refusedPushes: new Rate(clock, rate, tallies.notices('refused pushes')),
    };
  }

  #onPushAnswered({ status, channel, isAuthorized, address, connection, why }: PushAnswered): void {
    // What a stranger writes into a path must not become a label.
    this.requests.pushes.add(`${status} ${isAuthorized ? channel : ''}`);
    if (status < 400) return;
    const known = this.#parts.channels.has(channel) ? channel : undefined;
    this.#core.refusals.warn({ address, reason: why, channel: known, status, connection }, 'push refused');
  }
}

function countedStations({ order, stations }: LoadedConfig) {
  return order.map(({ station, channels }) => {
    const { name, timezone } = stations[station]!;
    return { key: station, name, timezone, channels };
  });
}
