/**
 * Serves clients: listeners, readers of titles, pushes, pages, and encoders' logins. It is given the channels, and passes on what it cannot answer
 * itself: changes to the engine, encoders to the process of their channels.
 */

import type { AdminQueries } from '../../admin/admin-queries.js';
import { mergeGetters, withGetters } from '../../base/getters.js';
import type { Output } from '../../base/output.js';
import type { Tallies } from '../../base/tallies.js';
import { LISTENERS_OF_CHANNELS, type Mount } from '../../channel/mount.js';
import type { ServedChannel } from '../../channel/served.js';
import { mayMakeTokens } from '../../config/admin-config.js';
import type { Feed } from '../../feed/feed.js';
import type { HlsChannels } from '../../hls/hls-channels.js';
import type { ProvenEncoder } from '../../http/ingest/proven.js';
import type { RefusalPace } from '../../http/ingest/refusal-pace.js';
import { sharedMs } from '../../link/facts/shared-time.js';
import type { SessionTarget } from '../../link/sessions/worker-sessions.js';
import { Audience } from '../../listener/cursor/audience.js';
import { HlsCrowd } from '../../listener/hls/hls-crowd.js';
import { ListenerStats, type ListenerStatsOptions } from '../../listener/listener-stats.js';
import { HeardReports } from '../../listener/sessions/heard-reports.js';
import { ListenerFeed } from '../../listener/sessions/listener-feed.js';
import { Sessions, type SessionsOptions } from '../../listener/sessions/sessions.js';
import { SharedPlayers } from '../../listener/sessions/shared-players.js';
import { type SessionLink, SharedSessions } from '../../listener/sessions/shared-sessions.js';
import type { HistoryStore } from '../../store/store.js';
import type { States } from '../../titles/engine.js';
import { MadeTokens } from '../../titles/made-tokens.js';
import type { Moments } from '../../titles/moments.js';
import type { PushDecisions } from '../../titles/push-decider.js';
import { Pushes } from '../../titles/pushes.js';
import { TitleReaders } from '../../titles/title-readers.js';
import type { Core } from '../core.js';
import type { Faces } from '../faces.js';
import type { ChannelChanges } from '../hub/channels.js';
import { sourcesOf } from '../hub/hub-hls.js';
import { EncoderVerdicts } from './encoder-verdicts.js';
import { MountStatuses } from './mount-statuses.js';
import { Network } from './network.js';
import { ProcessAdmin } from './process-admin.js';

export interface WorkerParts {
  readonly feed: Feed;
  readonly faces: Faces;
  readonly channels: ReadonlyMap<string, ServedChannel>;
  readonly states: States;
  /** Decides pushes. */
  readonly decisions: PushDecisions;
  readonly moments: Moments;
  readonly history: HistoryStore;
  readonly accessLog: Output | null;
  /** HLS, cut here or copied from the hub. */
  readonly hls: HlsChannels;
  /** Statistics over time. */
  readonly onJoin?: ListenerStatsOptions['onJoin'];
  /** How fast encoders are refused. */
  readonly pace: RefusalPace;
  /** Other processes have sessions too. Absent: there are none. */
  readonly others?: { readonly worker: number; readonly link: SessionLink };
  /** As in HlsPrivateParts. */
  tokenKey(): Buffer | null;
  /** The processes that answer an operator's requests. */
  readonly queries: AdminQueries;
  /** Reads the configuration again; resolves with what that changed, rejects with why it was not put in force. */
  reload(): Promise<string>;
  /** An encoder is authenticated. */
  onProven(encoder: ProvenEncoder): void;
}

export class Worker {
  readonly audience: Audience;
  readonly sessions: Sessions;
  readonly reports: HeardReports;
  /** Receives the sessions of other processes; null: there are no others. */
  readonly sessionTarget: SessionTarget | null;
  readonly listenerStats: ListenerStats;
  /** Listeners of HLS that are only counted. */
  readonly hlsCrowd: HlsCrowd;
  readonly readers: TitleReaders;
  readonly pushes: Pushes;
  readonly verdicts: EncoderVerdicts;
  readonly network: Network;
  /** The operator's view and actions here. */
  readonly admin: ProcessAdmin;
  readonly channels: ReadonlyMap<string, ServedChannel>;
  readonly #core: Core;
  readonly #parts: WorkerParts;
  /** By path. */
  readonly #mounts = new Map<string, Mount>();

  constructor(core: Core, parts: WorkerParts) {
    const { config, clock, tallies } = core;
    const { feed, channels, states, decisions, moments, history, accessLog, others } = parts;
    this.channels = channels;
    this.#core = core;
    const faces = parts.faces.byChannel;
    feed.change(parts.faces.byStation);
    this.#parts = parts;
    const { listenerFeed, sessions, reports, target } = makeSessions(core, feed, others);
    this.sessions = sessions;
    this.sessionTarget = target;
    this.reports = reports;
    this.audience = new Audience(clock, sessions, () => config.streams.writeSeconds, tallies);
    shareListeners(tallies, channels);
    this.readers = new TitleReaders({
      feed,
      faces,
      moments,
      clock,
      listeners: { feed: listenerFeed, sessions },
      max: () => config.metadata.heldPushes,
      delayMs: (channel) => this.#delayMs(channel),
      offsetMs: (channel, source) => channels.get(channel)!.titleOffsetMs(source),
    });
    const madeTokens = new MadeTokens(
      () => clock.wallMs(),
      (by) => mayMakeTokens(config.admin.users, by),
    );
    this.pushes = new Pushes({
      decisions,
      states,
      moments,
      faces,
      clock,
      log: core.log,
      channels,
      madeTokens,
      isWaiting: (channel, version) => this.readers.isWaiting(channel, version),
    });
    this.listenerStats = makeListenerStats(core, accessLog, parts.onJoin);
    this.hlsCrowd = new HlsCrowd(clock, tallies, () => config.limits.listeners);
    const mounts = this.#mounts;
    this.#collectMounts();
    this.verdicts = new EncoderVerdicts(core, mounts);
    const { audience, listenerStats, hlsCrowd, pushes, verdicts } = this;
    const { pace, onProven, hls, tokenKey } = parts;
    this.network = new Network(core, {
      channels,
      mounts,
      feed,
      sessions,
      reports,
      audience,
      listenerStats,
      hls,
      players: target?.players ?? null,
      hlsCrowd,
      tokenKey,
      pushes,
      verdicts,
      pace,
      onProven,
      directory: target?.shared ?? sessions,
      history,
      versionOf: (channel) => states.state(channel).version,
      statuses: new MountStatuses(channels, { feed, audience, listenerStats, hlsCrowd }, config),
      queries: parts.queries,
      reload: () => parts.reload(),
    });
    const { guards, streams, readers: watching } = this.network;
    this.admin = new ProcessAdmin(core, {
      audience,
      sessions,
      madeTokens,
      blocks: guards.blocks,
      logins: this.network.adminAccess.logins,
      streams,
      watchers: watching.watch.watchers,
    });
  }

  /** Called once a second: disconnects listeners of channels without audio, forgets stale nexts and sessions. */
  tidy(nowMs: number): void {
    const silenceMs = this.#core.config.streams.silenceSeconds * 1000;
    for (const { key, audio, live } of this.channels.values()) {
      if (nowMs - live.silentSinceMs > silenceMs && audio.playing > 0) this.audience.endAll('silence', key);
    }
    this.network.streams.tidy(nowMs);
    this.network.router.tidy(nowMs);
    this.readers.tidy(this.#parts.states);
    this.sessions.purge();
    this.sessionTarget?.shared.tidy();
  }

  /** The configuration, the faces and the channels have changed in place. @param isHookChanged whether the listener hook is another one */
  refresh({ added, removed }: ChannelChanges, isHookChanged: boolean): void {
    const { feed, faces } = this.#parts;
    // What is no longer looked at would count for ever.
    for (const key of removed) this.#core.tallies.tally(LISTENERS_OF_CHANNELS).set(key, 0);
    this.readers.forget(removed);
    feed.change(faces.byStation);
    this.readers.begin(added, this.#parts.states);
    this.#collectMounts();
    for (const key of removed) {
      this.audience.endAll('removed', key);
      this.network.streams.hlsListeners.endAll('removed', key);
    }
    this.network.refresh();
    this.#parts.hls.refresh(sourcesOf(this.channels.values()));
    if (isHookChanged) this.network.streams.refreshHook();
  }

  #collectMounts(): void {
    this.#mounts.clear();
    for (const { mounts } of this.channels.values()) for (const mount of mounts) this.#mounts.set(mount.path, mount);
  }

  #delayMs(channel: string): number {
    const { channelDelay } = this.#core.config.feed;
    if (channelDelay !== 'typical') return channelDelay * 1000;
    return this.audience.typicalLagMs(this.channels.get(channel)!.audio) ?? 0;
  }
}

function makeSessions({ config, clock, onError }: Core, feed: Feed, others: WorkerParts['others']) {
  const shared = others ? new SharedSessions({ ...others, sessions: () => sessions, feed, clock, onError }) : null;
  const listenerFeed = new ListenerFeed(feed, shared);
  const options: SessionsOptions = {
    get keepMs() {
      return config.sessions.keepSeconds * 1000;
    },
    max: config.sessions.max,
    ...(others && { sharedMs: () => sharedMs(clock, clock.now()) }),
  };
  const sessions: Sessions = new Sessions(clock, listenerFeed, options, shared);
  const reports = new HeardReports(sessions, clock, () => config.sessions.reportSeconds * 1000, shared);
  const players = others ? new SharedPlayers(others.worker, others.link, clock) : null;
  const target: SessionTarget | null = shared && players && { shared, players, reports };
  return { listenerFeed, sessions, reports, target };
}

/** What other processes know of the listeners here. */
function shareListeners(tallies: Tallies, channels: ReadonlyMap<string, ServedChannel>): void {
  const listeners = tallies.tally(LISTENERS_OF_CHANNELS);
  tallies.onLook(() => {
    for (const { key, audio } of channels.values()) listeners.set(key, audio.listeners);
  });
}

function makeListenerStats(
  { config, clock, secrets, tallies }: Core,
  accessLog: Output | null,
  onJoin: WorkerParts['onJoin'],
): ListenerStats {
  const options = withGetters<Pick<ListenerStatsOptions, 'togetherMs' | 'anonymize' | 'textCharacters'>>({
    togetherMs: () => config.sessions.togetherSeconds * 1000,
    anonymize: () => config.accessLog.anonymize,
    textCharacters: () => config.accessLog.textCharacters,
  });
  return new ListenerStats(clock, mergeGetters(options, { accessLog, secrets, tallies, ...(onJoin && { onJoin }) }));
}
