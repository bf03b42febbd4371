/**
 * Everything that answers: the doors for encoders, listeners and polls, the router with its reads, pushes, documents and the page. Built
 * from the configuration by app.ts; the addresses (addresses.ts) hand connections to what is made here.
 */

import type { Clock } from './clock.js';
import type { LoadedConfig } from './config/load.js';
import { documents } from './docs/documents.js';
import type { Door } from './door.js';
import { registerDocuments } from './http/documents.js';
import { EncoderDoor } from './http/encoder.js';
import { ListenerDoor } from './http/listener-door.js';
import { Nes } from './http/nes.js';
import { registerOps } from './http/ops.js';
import { registerPage } from './http/page.js';
import { Poll } from './http/poll.js';
import { PollDoor } from './http/poll-door.js';
import { registerPush } from './http/push.js';
import { Rate } from './http/rate.js';
import { Router } from './http/server.js';
import { type Mount, Stream } from './http/stream.js';
import { Updinfo } from './http/updinfo.js';
import { Watch } from './http/watch.js';
import type { Audience } from './listener/audience.js';
import type { Sessions } from './listener/sessions.js';
import type { Log, Repeats } from './log.js';
import type { Feed } from './metadata/feed.js';
import type { Metrics } from './metrics.js';
import type { Programme } from './programme.js';
import type { Store } from './store/store.js';

export interface NetworkParts {
  readonly config: LoadedConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly repeats: Repeats;
  readonly store: Store;
  readonly feed: Feed;
  readonly sessions: Sessions;
  readonly audience: Audience;
  readonly door: Door;
  readonly programmes: ReadonlyMap<string, Programme>;
  readonly metrics: Metrics;
  /** Whether the server is listening and not about to stop. */
  isReady(): boolean;
  report(error: unknown): void;
}

export class Network {
  readonly router: Router;
  readonly encoders: EncoderDoor;
  readonly listeners: ListenerDoor;
  readonly polls: PollDoor;
  readonly #watch: Watch;
  readonly #stream: Stream;
  readonly #audience: Audience;

  constructor(parts: NetworkParts) {
    const { config, clock, sessions, audience, programmes } = parts;
    const mounts = new Map(
      [...programmes.values()].flatMap(({ mounts }) => mounts.map((mount) => [mount.path, mount])),
    );
    const wrongSecrets = new Rate(clock, {
      perMinute: config.limits.wrongSecretsPerMinute,
      burst: config.limits.wrongSecretsPerMinute,
      remembered: config.limits.addressesRemembered,
    });
    this.#audience = audience;
    this.#stream = new Stream(audience, sessions, clock, {
      burstMs: config.streams.burstSeconds * 1000,
      startTimeoutMs: config.streams.startTimeoutSeconds * 1000,
      listeners: config.limits.listeners,
    });
    this.#watch = makeWatch(parts);
    this.router = makeRouter(parts, mounts, this.#stream, this.#watch, wrongSecrets);
    this.listeners = new ListenerDoor(mounts, this.#stream, {
      headBytes: config.limits.httpHeadBytes,
      headLines: config.limits.headLines,
      headMs: config.limits.headSeconds * 1000,
    });
    this.polls = new PollDoor(parts.feed, clock);
    this.encoders = makeEncoderDoor(parts, mounts, wrongSecrets);
    register(parts, this.router, wrongSecrets);
  }

  /** Open WebSocket, nes and SSE readers. */
  get watchers(): number {
    return this.#watch.count;
  }

  /** Resolves when requests can be answered. */
  async ready(): Promise<void> {
    await this.router.ready();
  }

  /** Takes nobody any more; streams end at a segment's end, watchers are told to go. Pushes under way go on. */
  drain(): void {
    this.#stream.close();
    this.#watch.close();
    this.#audience.endAll('shutdown');
    this.encoders.close();
    this.listeners.close();
  }

  /** Closes what is idle; resolves when the router is closed. */
  async close(): Promise<void> {
    this.polls.close();
    await this.router.close();
  }

  /** Cuts the watchers who have not gone. */
  terminate(): void {
    this.#watch.terminate();
  }
}

function makeWatch({ config, clock, feed, sessions }: NetworkParts): Watch {
  return new Watch(feed, sessions, clock, {
    pingMs: config.watch.pingSeconds * 1000,
    bufferBytes: config.watch.bufferBytes,
    drainMs: config.watch.drainSeconds * 1000,
    watchers: config.limits.watchers,
    watchersPerAddress: config.limits.watchersPerAddress,
  });
}

function makeRouter(
  { config, feed, sessions, store, report, programmes, repeats }: NetworkParts,
  mounts: ReadonlyMap<string, Mount>,
  stream: Stream,
  watch: Watch,
  wrongSecrets: Rate,
): Router {
  const { limits } = config;
  return new Router({
    mounts,
    stream,
    poll: new Poll(feed, sessions, (channel, page) => store.history(channel, page)),
    watch,
    nes: new Nes(watch.watchers, { pingMs: config.watch.pingSeconds * 1000, subscriptions: limits.nesSubscriptions }),
    updinfo: new Updinfo({
      desks: [...programmes.values()].flatMap(({ titleDesk }) => titleDesk ?? []),
      channelAt: (path) => mounts.get(path)?.channel.key,
      wrongSecrets,
      bodyBytes: limits.pushBodyBytes,
      textBytes: limits.textBytes,
      urlBytes: limits.urlBytes,
      answered: (status, channel, why) => {
        if (status >= 400) repeats.warn(`title ${status}`, { channel, status, why }, "an encoder's title was refused");
      },
    }),
    headBytes: limits.httpHeadBytes,
    headMs: limits.headSeconds * 1000,
    report,
  });
}

function makeEncoderDoor(
  { config, metrics, log, repeats, programmes }: NetworkParts,
  mounts: ReadonlyMap<string, Mount>,
  wrongSecrets: Rate,
): EncoderDoor {
  return new EncoderDoor({
    headBytes: config.limits.headBytes,
    headLines: config.limits.headLines,
    headMs: config.limits.headSeconds * 1000,
    server: config.streams.server,
    wrongSecrets,
    mount: (path) => {
      const mount = mounts.get(path);
      return mount === undefined ? undefined : programmes.get(mount.channel.key)!.encoder;
    },
    judged: (status, path, agent, why) => {
      metrics.encoders.inc({ status });
      // Only a path that is a mount: an encoder pointed at the push address shows its token in it.
      const mount = mounts.has(path) ? path : undefined;
      const fields = { mount, agent: agent.slice(0, 100) };
      if (status < 400) log.info({ ...fields, channel: why }, 'encoder connected');
      else repeats.warn(`encoder ${status}`, { ...fields, status, why }, 'encoder refused');
    },
  });
}

/** What goes through fastify. */
function register(parts: NetworkParts, { app }: Router, wrongSecrets: Rate): void {
  const { config, clock, door, metrics, repeats, programmes } = parts;
  const { limits } = config;
  const pushes = new Rate(clock, {
    perMinute: limits.pushesPerMinute,
    burst: limits.pushBurst,
    remembered: programmes.size,
  });
  registerPush(
    app,
    {
      authorized: (channel, token) => door.authorizes(channel, token),
      push: (channel, input) => door.push(channel, input),
      told: (tookMs) => metrics.pushSeconds.observe(tookMs / 1000),
      counted: (channel, status) => {
        metrics.pushes.inc({ channel, status });
        if (status >= 400) repeats.warn(`push ${status}`, { channel, status }, 'push refused');
      },
    },
    { ...limits, bodyBytes: limits.pushBodyBytes },
    { pushes, wrongSecrets },
  );
  registerOps(app, {
    get ready() {
      return parts.isReady();
    },
    metricsType: metrics.contentType,
    metrics: () => metrics.text(),
  });
  registerPage(app, pageChannels(config));
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
