/**
 * Carries the audio: channels with their sources and tapes, and the titles, which are decided and committed here. It knows no clients, which
 * a worker serves (worker.ts): in this process, or in others.
 */

import type { LateTitle } from '../../audio/playable-audio.js';
import type { Channel } from '../../channel/channel.js';
import type { ServedChannel } from '../../channel/served.js';
import type { ClusterEngine } from '../../cluster/titles/cluster-engine.js';
import type { Sequence } from '../../feed/sequence.js';
import { type ChannelFace, RecordView } from '../../metadata/view.js';
import type { Change } from '../../now-playing/state.js';
import type { Store } from '../../store/store.js';
import { SaveTimes } from '../../store/timed.js';
import type { Engine } from '../../titles/engine.js';
import { Moments } from '../../titles/moments.js';
import { PushDecider } from '../../titles/push-decider.js';
import type { TitleService } from '../../titles/title-service.js';
import type { Core } from '../core.js';
import type { Faces } from '../faces.js';
import { type ChannelChanges, Channels } from './channels.js';
import { type ClusterParts, makeClusterEngine } from './hub-cluster.js';
import { makeEngine, makeTitles } from './titles.js';

export interface HubParts extends Pick<ClusterParts, 'onBell' | 'onTimeMoved'> {
  readonly store: Store;
  /** The order of all records. */
  readonly sequence: Sequence;
  readonly faces: Faces;
  /** Whether workers can be sent a change. */
  fits(change: Change): boolean;
  /** Whether this machine's sources decide on a channel's titles, as it feeds the channel; undefined: as the configuration says. */
  isOwning(channel: string): boolean | undefined;
}

/** The news for clients, in this order. */
export interface HubOutput {
  /** A committed change, after it took effect on the tape. @param view of its record, where it has one */
  onChange(channel: string, change: Change, view: RecordView | null): void;
  /** Listeners may have been sent the place of a title. */
  onLate(channel: string, late: LateTitle): void;
  /** Another source of a channel is on air, or none. */
  onSourceChanged(channel: string): void;
  /** Another configuration is in force. */
  onRefreshed(): void;
}

/** A tape that has had no audio for this long is released if it has no listeners. */
const RELEASE_MS = 1000;

export class Hub {
  readonly channels: ReadonlyMap<string, Channel>;
  /** The same as clients meet them. */
  readonly served: ReadonlyMap<string, ServedChannel>;
  readonly engine: Engine;
  /** Decides pushes. */
  readonly decider: PushDecider;
  /** Null: this machine is alone. */
  readonly cluster: ClusterEngine | null;
  readonly moments: Moments;
  readonly titles: TitleService;
  readonly saves = new SaveTimes();
  readonly #core: Core;
  readonly #faces: ReadonlyMap<string, ChannelFace>;
  readonly #channels: Channels;
  #output: HubOutput | null = null;

  constructor(core: Core, given: HubParts) {
    const { faces, fits, isOwning } = given;
    const { config, clock, log } = core;
    this.#core = core;
    this.#faces = faces.byChannel;
    this.#channels = new Channels(config, { clock, log });
    this.channels = this.#channels.byKey;
    this.served = this.#channels.served;
    this.moments = new Moments(clock);
    const parts = { ...given, saves: this.saves, has: (channel: string) => this.channels.has(channel) };
    const onChange = (channel: string, change: Change) => this.#deliver(channel, change);
    this.cluster =
      config.cluster === undefined ? null : makeClusterEngine(core, config.cluster, { ...parts, onChange });
    this.engine = this.cluster ?? makeEngine(core, parts, onChange);
    const { moments, channels } = this;
    const onLate = (channel: string, late: LateTitle) => this.#output?.onLate(channel, late);
    this.titles = makeTitles(core, {
      engine: this.engine,
      moments,
      channels,
      faces: faces.byChannel,
      onLate,
      goesBySources: (channel) => isOwning(channel) ?? config.cluster?.sources !== false,
      hasOtherSources: config.cluster !== undefined && config.cluster.tapes === undefined,
    });
    this.decider = new PushDecider({
      engine: this.engine,
      moments,
      log,
      rulesOf: (channel) => channels.get(channel)?.served.rules,
      heldPushes: () => config.metadata.heldPushes,
      check: (channel) => this.titles.check(channel),
      fits,
    });
  }

  /** Joins the cluster, if it can be reached now. Before `restore`. */
  async join(): Promise<void> {
    await this.cluster?.join([...this.channels.keys()]);
  }

  /** Puts committed titles on the tapes; from now on changes go to the output. Before clients are served. */
  restore(output: HubOutput): Promise<void> {
    this.#output = output;
    this.cluster?.begin();
    return this.titles.restore();
  }

  /** Lets the sources run. Once. */
  start(): void {
    for (const channel of this.channels.values()) this.#startChannel(channel);
  }

  /** The configuration and the faces have changed in place: channels are added and removed, or have other sources. */
  refresh(): ChannelChanges {
    const changes = this.#channels.refresh();
    this.titles.forget(changes.removed);
    if (changes.added.length > 0) this.cluster?.learn(changes.added);
    void this.titles.begin(changes.added);
    for (const key of changes.added) this.#startChannel(this.channels.get(key)!);
    this.#output?.onRefreshed();
    return changes;
  }

  #startChannel(channel: Channel): void {
    const { streamTitle, sourceChanged } = this.titles;
    const onSourceChanged = (channel: string) => {
      sourceChanged(channel);
      this.#output?.onSourceChanged(channel);
    };
    channel.start({ onTitle: streamTitle, onSourceChanged });
  }

  /** Releases all sources. Idempotent. */
  stop(): void {
    for (const channel of this.channels.values()) channel.stop();
  }

  /** Called once a second: drops unused tapes, and applies due titles. */
  tidy(nowMs: number): void {
    for (const { audio, served, isRemote } of this.channels.values()) {
      const silentMs = nowMs - served.live.silentSinceMs;
      if (!isRemote && silentMs > RELEASE_MS) audio.release(silentMs > this.#core.config.streams.silenceSeconds * 1000);
    }
    this.titles.tidy();
  }

  /** The tape first, then the readers. */
  #deliver(channel: string, change: Change): void {
    const { watchdog } = this.#core.clock;
    const startMs = watchdog.begin();
    const face = this.#faces.get(channel);
    // The channel was removed while the change was committed.
    if (face === undefined) return;
    const view = change.record === null ? null : new RecordView(change.record, face);
    this.titles.deliver(channel, change, view);
    this.#output?.onChange(channel, change, view);
    if (watchdog.end('change', startMs)) watchdog.blame(channel);
  }
}
