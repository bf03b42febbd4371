/**
 * What clients reach: listeners, readers of titles, pushes, pages, and the logins of encoders. It takes channels as they are served, and hands on
 * what it cannot answer by itself: changes to the engine, encoders to where their channels are.
 */

import type { Output } from '../base/output.js';
import type { ServedChannel } from '../channel/served.js';
import type { Feed } from '../feed/feed.js';
import type { ProvenEncoder } from '../http/ingest/proven.js';
import type { RefusalPace } from '../http/ingest/refusal-pace.js';
import { sharedMs } from '../link/shared-time.js';
import type { WorkerSessions } from '../link/worker-sessions.js';
import { Audience } from '../listener/audience.js';
import { HeardReports } from '../listener/heard-reports.js';
import { ListenerFeed } from '../listener/listener-feed.js';
import { ListenerStats } from '../listener/listener-stats.js';
import { Sessions } from '../listener/sessions.js';
import { SharedSessions } from '../listener/shared-sessions.js';
import type { ChannelFace } from '../metadata/view.js';
import type { HistoryStore } from '../store/store.js';
import type { Engine } from '../titles/engine.js';
import type { Moments } from '../titles/moments.js';
import { Pushes } from '../titles/pushes.js';
import { TitleReaders } from '../titles/readers.js';
import type { Core } from './core.js';
import { EncoderVerdicts } from './encoder-verdicts.js';
import { announce } from './faces.js';
import { mountStatuses } from './mount-statuses.js';
import { Network } from './network.js';

export interface WorkerParts {
  readonly feed: Feed;
  readonly faces: ReadonlyMap<string, ChannelFace>;
  readonly channels: ReadonlyMap<string, ServedChannel>;
  readonly engine: Engine;
  readonly moments: Moments;
  readonly history: HistoryStore;
  readonly accessLog: Output | null;
  /** How fast encoders are refused. */
  readonly pace: RefusalPace;
  /** Other processes have sessions too. Absent: there are none. */
  readonly others?: { readonly worker: number; readonly link: WorkerSessions };
  /** A push is about to be decided. */
  onPush(channel: string): void;
  /** An encoder's secret is right. */
  onProven(encoder: ProvenEncoder): void;
}

export class Worker {
  readonly audience: Audience;
  readonly sessions: Sessions;
  readonly reports: HeardReports;
  /** Null: there are no other processes. */
  readonly shared: SharedSessions | null;
  readonly listenerStats: ListenerStats;
  readonly readers: TitleReaders;
  readonly pushes: Pushes;
  readonly verdicts: EncoderVerdicts;
  readonly network: Network;
  readonly channels: ReadonlyMap<string, ServedChannel>;
  readonly #engine: Engine;
  readonly #silenceMs: number;

  constructor(core: Core, parts: WorkerParts) {
    const { config, clock, tallies } = core;
    const { feed, faces, channels, engine, moments, history, accessLog, onPush, others } = parts;
    this.channels = channels;
    this.#engine = engine;
    this.#silenceMs = config.streams.silenceSeconds * 1000;
    announce(feed, config, faces);
    const listenerFeed = new ListenerFeed(feed);
    this.sessions = new Sessions(clock, listenerFeed, {
      keepMs: config.sessions.keepSeconds * 1000,
      max: config.sessions.max,
      ...(others && { sharedMs: () => sharedMs(clock, clock.now()) }),
    });
    const { sessions } = this;
    this.shared = others ? new SharedSessions({ ...others, sessions, feed, clock, onError: core.onError }) : null;
    listenerFeed.shared = this.shared;
    this.reports = new HeardReports(sessions, clock, config.sessions.reportSeconds * 1000, this.shared);
    if (this.shared !== null) others!.link.attach({ shared: this.shared, reports: this.reports });
    this.audience = new Audience(clock, sessions, config.streams.writeSeconds, tallies);
    const listeners = tallies.tally('listeners of channels');
    tallies.onLook(() => {
      for (const { key, audio } of channels.values()) listeners.set(key, audio.listeners);
    });
    const { heldPushes } = config.metadata;
    this.readers = new TitleReaders({
      ...{ feed, faces, moments, clock, listenerFeed, sessions, most: heldPushes },
      delayMs: (channel) => this.#delayMs(core, channel),
      offsetMs: (channel, source) => channels.get(channel)!.titleOffsetMs(source),
    });
    this.pushes = new Pushes({
      ...{ engine, moments, faces, clock, log: core.log, heldPushes, onPush },
      channels: new Map([...channels].map(([key, { rules }]) => [key, rules])),
      isWaiting: (channel, version) => this.readers.isWaiting(channel, version),
    });
    this.listenerStats = new ListenerStats(clock, {
      togetherMs: config.sessions.togetherSeconds * 1000,
      accessLog,
      anonymize: config.accessLog.anonymize,
      textCharacters: config.accessLog.textCharacters,
      secrets: core.secrets,
      tallies,
    });
    const all = [...channels.values()].flatMap(({ mounts }) => mounts);
    const mounts = new Map(all.map((mount) => [mount.path, mount]));
    this.verdicts = new EncoderVerdicts(core, mounts);
    const { audience, reports, listenerStats, pushes, verdicts } = this;
    const { pace, onProven } = parts;
    this.network = new Network(core, {
      ...{ channels, mounts, feed, sessions, reports, audience, listenerStats, pushes, verdicts, pace, onProven },
      directory: this.shared ?? sessions,
      ...{ history, versionOf: (channel) => engine.state(channel).version },
      statuses: mountStatuses(channels, { feed, audience, listenerStats }, config),
    });
  }

  /** Once a second: listeners of a channel without audio are let go, stale nexts and sessions are forgotten. */
  tidy(nowMs: number): void {
    for (const { key, audio, live } of this.channels.values()) {
      if (nowMs - live.silentSinceMs > this.#silenceMs && audio.playing > 0) this.audience.endAll('silence', key);
    }
    this.readers.tidy(this.#engine);
    this.sessions.purge();
    this.shared?.tidy();
  }

  #delayMs({ config }: Core, channel: string): number {
    const { channelDelay } = config.feed;
    if (channelDelay !== 'typical') return channelDelay * 1000;
    return this.audience.typicalLagMs(this.channels.get(channel)!.audio) ?? 0;
  }
}
