/**
 * Everything that answers: the doors for encoders, listeners and polls, the router with its reads, pushes, documents and the page. Built
 * from the configuration by app.ts; the addresses (addresses.ts) hand connections to what is made here.
 */

import type { Clock } from '../base/clock.js';
import { isLoopback } from '../base/ip.js';
import type { Log } from '../base/log.js';
import type { RefusalLog } from '../base/refusal-log.js';
import type { SecretMask } from '../base/secret-mask.js';
import type { Channel } from '../channel/channel.js';
import type { Mount } from '../channel/mount.js';
import type { LoadedConfig } from '../config/load.js';
import { documents } from '../docs/documents.js';
import type { Feed } from '../feed/feed.js';
import { registerDocuments } from '../http/documents.js';
import type { EncoderAcceptor } from '../http/ingest/encoder.js';
import { EncoderPreflight } from '../http/ingest/preflight.js';
import type { ShoutcastAcceptor } from '../http/ingest/shoutcast.js';
import { TitleUpdateAcceptor } from '../http/ingest/title-acceptor.js';
import { TitleUpdates } from '../http/ingest/title-updates.js';
import { registerOps } from '../http/ops.js';
import { registerPage } from '../http/page.js';
import { PollAcceptor } from '../http/poll/accept.js';
import { Poll } from '../http/poll/poll.js';
import { registerPush } from '../http/push.js';
import { Router } from '../http/router.js';
import { ListenerAcceptor } from '../http/stream/accept.js';
import type { ListenerHook } from '../http/stream/hook.js';
import { MountService } from '../http/stream/mount-service.js';
import { Stream } from '../http/stream/stream.js';
import { Nes } from '../http/watch/nes.js';
import { Watch } from '../http/watch/watch.js';
import type { Audience } from '../listener/audience.js';
import type { Guests } from '../listener/guests.js';
import type { Sessions } from '../listener/sessions.js';
import { Connections } from '../net/connections.js';
import type { Judges } from '../net/held-connection.js';
import { Proxies } from '../net/peer.js';
import { Rate } from '../net/rate.js';
import { NO_SECRET, SecretGate } from '../net/secret-gate.js';
import type { Store } from '../store/store.js';
import type { TitleService } from '../titles/service.js';
import { makeAdmission } from './admit.js';
import { makeEncoderDoors } from './encoders.js';
import type { Metrics } from './metrics.js';
import { registerStatistics } from './statistics.js';

export interface NetworkParts {
  readonly config: LoadedConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly refusals: RefusalLog;
  readonly secrets: SecretMask;
  readonly store: Store;
  readonly feed: Feed;
  readonly sessions: Sessions;
  readonly audience: Audience;
  readonly listenerStats: Guests;
  readonly titles: TitleService;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly metrics: Metrics;
  /** Another number with each committed change of a channel. */
  versionOf(channel: string): number;
  /** Whether the server is listening and not about to stop. */
  isReady(): boolean;
  onError(error: unknown): void;
}

export class Network {
  readonly router: Router;
  readonly encoders: EncoderAcceptor;
  readonly shoutcast: ShoutcastAcceptor;
  readonly titles: TitleUpdateAcceptor;
  readonly listeners: ListenerAcceptor;
  readonly polls: PollAcceptor;
  readonly proxies: Proxies;
  readonly connections: Connections;
  readonly #watch: Watch;
  readonly #stream: Stream;
  readonly #audience: Audience;
  readonly #hook: ListenerHook | null;
  readonly #gate: SecretGate;

  constructor(parts: NetworkParts) {
    const { config, clock, sessions, audience, channels: programmes } = parts;
    const mounts = new Map(
      [...programmes.values()].flatMap(({ mounts }) => mounts.map((mount) => [mount.path, mount])),
    );
    this.#gate = new SecretGate(clock, {
      perMinute: config.limits.wrongSecretsPerMinute,
      inAllPerMinute: config.limits.wrongSecretsInAllPerMinute,
      queue: config.limits.secretQueue,
      remembered: config.limits.addressesRemembered,
    });
    this.#audience = audience;
    this.proxies = new Proxies(config.proxies.trusted, config.proxies.head);
    this.connections = makeConnections(parts, this.proxies);
    const { admission, hook } = makeAdmission(parts);
    this.#hook = hook;
    this.#stream = new Stream(audience, sessions, parts.listenerStats, admission, clock, {
      burstMs: config.streams.burstSeconds * 1000,
      startTimeoutMs: config.streams.startTimeoutSeconds * 1000,
    });
    this.#watch = makeWatch(parts, this.proxies);
    this.router = makeRouter(parts, mounts, this.#stream, this.#watch, this.proxies, this.connections, this.#gate);
    const headLimits = {
      headBytes: config.limits.httpHeadBytes,
      headLines: config.limits.headLines,
      headMs: config.limits.headSeconds * 1000,
    };
    this.listeners = new ListenerAcceptor(mounts, this.#stream, this.proxies, this.connections, headLimits);
    this.titles = new TitleUpdateAcceptor(headLimits);
    this.polls = new PollAcceptor(parts.feed, clock, this.connections);
    ({ encoders: this.encoders, shoutcast: this.shoutcast } = makeEncoderDoors(
      parts,
      mounts,
      this.#gate,
      this.proxies,
      this.connections,
    ));
    registerRoutes(parts, this.router, this.proxies, { gate: this.#gate, connections: this.connections });
  }

  /** Open WebSocket, nes and SSE readers. */
  get watchers(): number {
    return this.#watch.count;
  }

  /** Resolves when requests can be answered. */
  async ready(): Promise<void> {
    await this.router.ready();
  }

  /** Secrets without a verdict yet. */
  get secretsWaiting(): number {
    return this.#gate.waiting;
  }

  /** Takes nobody any more; streams end with a whole frame, watchers are told to go. Pushes under way go on. */
  drain(): void {
    this.#stream.close();
    this.#hook?.close();
    this.#gate.close();
    this.#watch.close();
    this.#audience.endAll('shutdown');
    this.encoders.close();
    this.shoutcast.close();
    this.titles.close();
    this.listeners.close();
  }

  /** Closes what is idle; resolves when the router is closed. */
  async close(): Promise<void> {
    this.polls.close();
    await this.router.close();
  }

  /** Resolves when the listener hook has been told who has gone. */
  async settled(): Promise<void> {
    await this.#hook?.settled();
  }

  /** Cuts the watchers who have not gone. */
  terminate(): void {
    this.#watch.terminate();
  }
}

function makeWatch({ config, clock, feed, sessions }: NetworkParts, proxies: Proxies): Watch {
  return new Watch(feed, sessions, clock, {
    pingMs: config.watch.pingSeconds * 1000,
    bufferBytes: config.watch.bufferBytes,
    drainMs: config.watch.drainSeconds * 1000,
    watchers: config.limits.watchers,
    watchersPerAddress: config.limits.watchersPerAddress,
    frames: config.limits.webSocketFrames,
    proxies,
  });
}

/** From the proxies and from this machine itself come many who have nothing to do with each other. */
function makeConnections({ config, refusals }: NetworkParts, proxies: Proxies): Connections {
  const { connections, connectionsPerAddress, reservedConnections } = config.limits;
  return new Connections({
    connections,
    perAddress: connectionsPerAddress ?? Math.max(100, Math.floor(connections / 10)),
    reserved: reservedConnections ?? Math.min(100, Math.floor(connections / 10)),
    isShared: (address) => isLoopback(address) || proxies.isTrusted(address),
    onRefused: (reason, address) => refusals.warn({ address, reason, status: 503 }, 'connection refused'),
  });
}

function makeRouter(
  {
    config,
    clock,
    feed,
    sessions,
    store,
    versionOf,
    onError: report,
    channels: programmes,
    log,
    refusals,
  }: NetworkParts,
  mounts: ReadonlyMap<string, Mount>,
  stream: Stream,
  watch: Watch,
  proxies: Proxies,
  connections: Connections,
  gate: SecretGate,
): Router {
  const { limits } = config;
  return new Router({
    connections,
    services: [
      new MountService(mounts, stream, proxies),
      new EncoderPreflight(mounts),
      watch.sse,
      new Poll(feed, sessions, {
        proxies,
        onError: report,
        history: {
          read: (channel, page) => store.history(channel, page),
          versionOf,
          entries: limits.historyEntries,
          pageBytes: limits.historyPageBytes,
          cacheBytes: limits.historyCacheBytes,
          waiting: limits.historyWaiting,
          waitingPerAddress: limits.historyWaitingPerAddress,
          bytesInFlight: limits.historyBytesInFlight,
          bytesInFlightPerAddress: limits.historyBytesInFlightPerAddress,
        },
      }),
      new TitleUpdates({
        mounts: [...programmes.values()].flatMap(({ encoder }) => encoder ?? []),
        channelAt: (path) => mounts.get(path)?.channel.key,
        gate,
        connections,
        proxies,
        bodyBytes: limits.pushBodyBytes,
        parameters: limits.parameters,
        textBytes: limits.textBytes,
        urlBytes: limits.urlBytes,
        onAnswered: ({ status, address, channel, why }) => {
          const refused = { address, reason: why, channel: channel || undefined, status };
          if (why === NO_SECRET) log.debug(refused, "an encoder's title came without credentials");
          else if (status >= 400) refusals.warn(refused, "an encoder's title was refused");
        },
      }),
    ],
    upgrades: [
      new Nes(watch.watchers, clock, {
        pingMs: config.watch.pingSeconds * 1000,
        subscriptions: limits.nesSubscriptions,
        frames: limits.webSocketFrames,
      }),
      watch,
    ],
    watchdog: clock.watchdog,
    headBytes: limits.httpHeadBytes,
    headMs: limits.headSeconds * 1000,
    requestMs: limits.requestSeconds * 1000,
    onError: report,
  });
}

/** What goes through fastify. */
function registerRoutes(parts: NetworkParts, { app }: Router, proxies: Proxies, judges: Judges): void {
  const { config, clock, titles: door, metrics, refusals, channels: programmes } = parts;
  const { limits } = config;
  const rate = { perMinute: limits.pushesPerMinute, burst: limits.pushBurst, remembered: programmes.size };
  registerPush(
    app,
    {
      authorized: (channel, token) => door.authorizes(channel, token),
      push: (channel, input) => door.push(channel, input),
      onPublished: (tookMs) => metrics.pushSeconds.observe(tookMs / 1000),
      onAnswered: ({ status, channel, isAuthorized, address, why }) => {
        // What a stranger writes into a path must not become a label.
        metrics.pushes.inc({ channel: isAuthorized ? channel : '', status });
        if (status < 400) return;
        const known = programmes.has(channel) ? channel : undefined;
        refusals.warn({ address, reason: why, channel: known, status }, 'push refused');
      },
    },
    { ...limits, bodyBytes: limits.pushBodyBytes },
    { pushes: new Rate(clock, rate), refusedPushes: new Rate(clock, rate), ...judges, proxies },
  );
  registerOps(app, {
    get ready() {
      return parts.isReady();
    },
    metricsType: metrics.contentType,
    metrics: () => metrics.text(),
  });
  registerPage(app, pageChannels(config));
  registerStatistics(app, { ...parts, census: parts.listenerStats.census, trust: proxies });
  registerDocuments(app, documents(limits));
}

function pageChannels(config: LoadedConfig) {
  return config.order.flatMap(({ station, channels }) =>
    channels.map((key) => {
      const { name, description, mounts } = config.stations[station]!.channels[key]!;
      const mount = mounts[0] ?? `/${key}`;
      return { station: config.stations[station]!.name || station, key, name: name || key, description, mount };
    }),
  );
}
