/**
 * Everything that answers, put together: encoders, listeners and readers, each with its services for the router, and pushes, the page and
 * the documents. The addresses (addresses.ts) hand connections to what is made here.
 */

import { Counts, Durations } from '../base/counts.js';
import type { Mount } from '../channel/mount.js';
import type { ServedChannel } from '../channel/served.js';
import type { LoadedConfig } from '../config/load.js';
import { documents } from '../docs/documents.js';
import { registerDocuments } from '../http/documents.js';
import { registerHeard } from '../http/heard.js';
import { type Ops, registerOps } from '../http/ops.js';
import { registerPage } from '../http/page.js';
import { type PushAnswered, registerPush } from '../http/push.js';
import { Router } from '../http/router.js';
import type { MountStatus } from '../http/stream/mount-status.js';
import { Rate } from '../net/rate.js';
import type { Pushes } from '../titles/pushes.js';
import type { Core } from './core.js';
import { type Guards, makeGuards } from './guards.js';
import { Ingest, type IngestParts } from './ingest.js';
import { type ReaderParts, Readers } from './readers.js';
import type { RequestCounts } from './request-counts.js';
import { type ListenerParts, Streams } from './streams.js';

export interface NetworkParts extends ListenerParts, ReaderParts, IngestParts {
  readonly channels: ReadonlyMap<string, ServedChannel>;
  readonly mounts: ReadonlyMap<string, Mount>;
  readonly pushes: Pushes;
  /** Each channel as playlists and statistics report it. */
  readonly statuses: readonly MountStatus[];
}

/** Upper bounds, seconds. */
const PUSH_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1, 5];

export class Network {
  readonly guards: Guards;
  readonly ingest: Ingest;
  readonly streams: Streams;
  readonly readers: Readers;
  readonly router: Router;
  readonly requests: RequestCounts;
  readonly #core: Core;
  readonly #parts: NetworkParts;

  constructor(core: Core, parts: NetworkParts) {
    const { config, clock, onError } = core;
    const { limits } = config;
    this.#core = core;
    this.#parts = parts;
    this.guards = makeGuards(core);
    this.ingest = new Ingest(core, this.guards, parts);
    this.streams = new Streams(core, this.guards, parts.mounts, parts);
    this.readers = new Readers(core, this.guards, parts);
    this.requests = {
      pushes: new Counts(),
      pushDurations: new Durations(PUSH_SECONDS),
      encoders: parts.verdicts.counts,
      hookVerdicts: this.streams.hookVerdicts,
    };
    this.router = new Router({
      connections: this.guards.connections,
      services: [...this.streams.services, ...this.ingest.services, ...this.readers.services],
      upgrades: this.readers.upgrades,
      watchdog: clock.watchdog,
      headBytes: limits.httpHeadBytes,
      headMs: limits.headSeconds * 1000,
      requestMs: limits.requestSeconds * 1000,
      onError,
    });
  }

  /** Registers what goes through fastify; resolves when requests can be answered. */
  async ready(ops: Ops): Promise<void> {
    const { app } = this.router;
    const { config } = this.#core;
    this.#registerPush();
    registerHeard(app, this.#parts.reports, Math.ceil(config.sessions.reportSeconds));
    registerOps(app, ops);
    registerPage(app, pageChannels(config));
    this.streams.register(app, this.#parts.statuses);
    registerDocuments(app, documents(config.limits));
    await this.router.ready();
  }

  /** Takes no new clients; streams end with a whole frame, watchers get 1001. Pushes under way go on. */
  drain(): void {
    this.streams.close();
    this.guards.gate.close();
    this.readers.watch.close();
    this.#parts.audience.endAll('shutdown');
    this.ingest.close();
  }

  /** Closes what is idle; resolves when the router is closed. */
  async close(): Promise<void> {
    this.readers.polls.close();
    await this.router.close();
  }

  /** Cuts the watchers and requests that are still there. */
  terminate(): void {
    this.readers.watch.terminate();
    this.router.terminate();
  }

  #registerPush(): void {
    const { config, clock, tallies } = this.#core;
    const { pushes, channels } = this.#parts;
    const { limits } = config;
    const rate = { perMinute: limits.pushesPerMinute, burst: limits.pushBurst, remembered: channels.size };
    const target = {
      authorizes: (channel: string, token: string) => pushes.authorizes(channel, token),
      push: pushes.push.bind(pushes),
      onIgnored: pushes.ignored.bind(pushes),
      onPublished: (tookMs: number) => this.requests.pushDurations.add(tookMs / 1000),
      onAnswered: (answered: PushAnswered) => this.#onPushAnswered(answered),
    };
    registerPush(
      this.router.app,
      target,
      { ...limits, bodyBytes: limits.pushBodyBytes },
      {
        ...this.guards,
        pushes: new Rate(clock, rate, tallies.notices('pushes')),
        refusedPushes: new Rate(clock, rate, tallies.notices('refused pushes')),
      },
    );
  }

  #onPushAnswered({ status, channel, isAuthorized, address, why }: PushAnswered): void {
    // What a stranger writes into a path must not become a label.
    this.requests.pushes.add(`${status} ${isAuthorized ? channel : ''}`);
    if (status < 400) return;
    const known = this.#parts.channels.has(channel) ? channel : undefined;
    this.#core.refusals.warn({ address, reason: why, channel: known, status }, 'push refused');
  }
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
