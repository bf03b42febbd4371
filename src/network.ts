/**
 * Everything that answers: the doors for encoders, listeners and polls, the router with its reads, pushes, documents and the page. Built
 * from the configuration by app.ts; the addresses (addresses.ts) hand connections to what is made here.
 */

import { makeAdmission } from './admit.js';
import type { Clock } from './clock.js';
import type { LoadedConfig } from './config/load.js';
import { documents } from './docs/documents.js';
import type { Door } from './door.js';
import { makeEncoderDoors } from './encoders.js';
import { Connections } from './http/connections.js';
import { registerDocuments } from './http/documents.js';
import type { EncoderDoor } from './http/encoder.js';
import type { Judges } from './http/held-connection.js';
import type { ListenerHook } from './http/hook.js';
import { ListenerDoor } from './http/listener-door.js';
import { Nes } from './http/nes.js';
import { registerOps } from './http/ops.js';
import { registerPage } from './http/page.js';
import { isLoopback, Proxies } from './http/peer.js';
import { Poll } from './http/poll.js';
import { PollDoor } from './http/poll-door.js';
import { registerPush } from './http/push.js';
import { Rate } from './http/rate.js';
import { NO_SECRET, SecretGate } from './http/secret-gate.js';
import { Router } from './http/server.js';
import type { ShoutcastDoor } from './http/shoutcast.js';
import { type Mount, Stream } from './http/stream.js';
import { TitleDoor } from './http/title-door.js';
import { Updinfo } from './http/updinfo.js';
import { Watch } from './http/watch.js';
import type { Audience } from './listener/audience.js';
import type { Guests } from './listener/guests.js';
import type { Sessions } from './listener/sessions.js';
import type { Log } from './log.js';
import type { SecretMask } from './mask.js';
import type { Feed } from './metadata/feed.js';
import type { Metrics } from './metrics.js';
import type { Programme } from './programme.js';
import type { RefusalLog } from './refusal-log.js';
import { registerStatistics } from './statistics.js';
import type { Store } from './store/store.js';

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
  readonly guests: Guests;
  readonly door: Door;
  readonly programmes: ReadonlyMap<string, Programme>;
  readonly metrics: Metrics;
  /** Another number with each committed change of a channel. */
  versionOf(channel: string): number;
  /** Whether the server is listening and not about to stop. */
  isReady(): boolean;
  report(error: unknown): void;
}

export class Network {
  readonly router: Router;
  readonly encoders: EncoderDoor;
  readonly shoutcast: ShoutcastDoor;
  readonly titles: TitleDoor;
  readonly listeners: ListenerDoor;
  readonly polls: PollDoor;
  readonly proxies: Proxies;
  readonly connections: Connections;
  readonly #watch: Watch;
  readonly #stream: Stream;
  readonly #audience: Audience;
  readonly #hook: ListenerHook | null;
  readonly #gate: SecretGate;

  constructor(parts: NetworkParts) {
    const { config, clock, sessions, audience, programmes } = parts;
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
    this.#stream = new Stream(audience, sessions, parts.guests, admission, clock, {
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
    this.listeners = new ListenerDoor(mounts, this.#stream, this.proxies, this.connections, headLimits);
    this.titles = new TitleDoor(headLimits);
    this.polls = new PollDoor(parts.feed, clock, this.connections);
    ({ encoders: this.encoders, shoutcast: this.shoutcast } = makeEncoderDoors(
      parts,
      mounts,
      this.#gate,
      this.proxies,
      this.connections,
    ));
    register(parts, this.router, this.proxies, { gate: this.#gate, connections: this.connections });
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
  { config, clock, feed, sessions, store, versionOf, report, programmes, log, refusals }: NetworkParts,
  mounts: ReadonlyMap<string, Mount>,
  stream: Stream,
  watch: Watch,
  proxies: Proxies,
  connections: Connections,
  gate: SecretGate,
): Router {
  const { limits } = config;
  return new Router({
    mounts,
    stream,
    proxies,
    connections,
    poll: new Poll(feed, sessions, {
      proxies,
      report,
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
    watch,
    nes: new Nes(watch.watchers, clock, {
      pingMs: config.watch.pingSeconds * 1000,
      subscriptions: limits.nesSubscriptions,
      frames: limits.webSocketFrames,
    }),
    updinfo: new Updinfo({
      desks: [...programmes.values()].flatMap(({ titleDesk }) => titleDesk ?? []),
      channelAt: (path) => mounts.get(path)?.channel.key,
      gate,
      connections,
      proxies,
      bodyBytes: limits.pushBodyBytes,
      parameters: limits.parameters,
      textBytes: limits.textBytes,
      urlBytes: limits.urlBytes,
      answered: ({ status, address, channel, why }) => {
        const refused = { address, reason: why, channel: channel || undefined, status };
        if (why === NO_SECRET) log.debug(refused, "an encoder's title came without credentials");
        else if (status >= 400) refusals.warn(refused, "an encoder's title was refused");
      },
    }),
    watchdog: clock.watchdog,
    headBytes: limits.httpHeadBytes,
    headMs: limits.headSeconds * 1000,
    requestMs: limits.requestSeconds * 1000,
    report,
  });
}

/** What goes through fastify. */
function register(parts: NetworkParts, { app }: Router, proxies: Proxies, judges: Judges): void {
  const { config, clock, door, metrics, refusals, programmes } = parts;
  const { limits } = config;
  const rate = { perMinute: limits.pushesPerMinute, burst: limits.pushBurst, remembered: programmes.size };
  registerPush(
    app,
    {
      authorized: (channel, token) => door.authorizes(channel, token),
      push: (channel, input) => door.push(channel, input),
      told: (tookMs) => metrics.pushSeconds.observe(tookMs / 1000),
      answered: ({ status, channel, isAuthorized, address, why }) => {
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
  registerStatistics(app, { ...parts, census: parts.guests.census, trust: proxies });
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
