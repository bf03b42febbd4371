/**
 * The side of a server with the channels: hub, statistics over time, metrics, alerts, operators' requests, admission of encoders. In one process it
 * is beside the clients' side (app.ts), with workers in a process of its own (linked-hub.ts).
 */

import type { Alerts } from '../../alerts/alerts.js';
import { measured } from '../../base/watchdog.js';
import type { SendingTurns } from '../../cluster/sending-turns.js';
import type { Leased } from '../../cluster/tapes/leases.js';
import type { SharedTapes } from '../../cluster/tapes/shared-tapes.js';
import type { Covers } from '../../covers/covers.js';
import type { Directories } from '../../directories/directories.js';
import type { Sequence } from '../../feed/sequence.js';
import type { HlsChannels } from '../../hls/hls-channels.js';
import type { RefusalPace } from '../../http/ingest/refusal-pace.js';
import { TapeNames } from '../../link/tapes/tape-names.js';
import type { AcmeCertificates } from '../../net/acme/acme-certificates.js';
import type { SessionTickets } from '../../net/tls/session-tickets.js';
import type { Recorder } from '../../statistics/recorder.js';
import type { Store } from '../../store/store.js';
import type { TitlesOut } from '../../webhooks/titles-out.js';
import type { Core } from '../core.js';
import type { Faces } from '../faces.js';
import { observeHls } from '../metrics/hls-metrics.js';
import { observeHub } from '../metrics/hub-metrics.js';
import type { Metrics } from '../metrics/metrics.js';
import { noReloads, observeReloads, type ReloadResults } from '../reload-results.js';
import { Admissions, makePace } from './admissions.js';
import type { AlertFactsReader } from './alert-facts.js';
import { Hub } from './hub.js';
import { HubAdmin } from './hub-admin.js';
import { makeAlerts } from './hub-alerts.js';
import { makeCertificates } from './hub-certificates.js';
import type { HubClients } from './hub-clients.js';
import { clusterReport, clusterWatch, observeCluster } from './hub-cluster.js';
import { makeCovers } from './hub-covers.js';
import { makeDirectories } from './hub-directories.js';
import { makeHls } from './hub-hls.js';
import { makeRecorder } from './hub-statistics.js';
import { makeTickets } from './hub-tickets.js';
import { clockWatch, hlsWatch, silenceWatch, storeWatch, turnWatch } from './hub-watches.js';
import { makeWebhooks } from './hub-webhooks.js';

export interface HubSideParts {
  readonly store: Store;
  /** The order of all records. */
  readonly sequence: Sequence;
  readonly faces: Faces;
  readonly metrics: Metrics;
  /** Its clients, which are created after it. */
  clients(): HubClients;
  /** The audio that machines share. Null: none is, or not yet. */
  shared(): SharedTapes | null;
}

export class HubSide {
  readonly parts: HubSideParts;
  readonly hub: Hub;
  /** Of tapes, as other processes know them. */
  readonly names = new TapeNames();
  readonly hls: HlsChannels;
  readonly recorder: Recorder;
  readonly admin: HubAdmin;
  readonly admissions: Admissions;
  /** How fast encoders are refused in this process. */
  readonly pace: RefusalPace;
  readonly alerts: Alerts;
  readonly #titlesOut: TitlesOut;
  readonly #covers: Covers;
  readonly #certificates: AcmeCertificates;
  readonly tickets: SessionTickets;
  readonly #directories: Directories;
  /** Which machine of a cluster sends titles out; null: this one is alone. */
  readonly turns: SendingTurns | null;
  /** Leases beside those of the audio. */
  readonly moreLeases: () => Iterable<readonly [name: string, leased: Leased]>;
  /** The facts that alerts judge. */
  readonly facts: AlertFactsReader;
  /** What is due each second. */
  readonly tasks: readonly ((nowMs: number) => void)[];
  /** What became of reloads, for the metrics. */
  reloads: ReloadResults;
  /** Whether leases are requested here, as no audio is shared. */
  readonly #asksAlone: boolean;

  constructor(core: Core, parts: HubSideParts) {
    const { config, clock, log } = core;
    const { store, metrics, faces, clients, shared } = parts;
    this.parts = parts;
    this.hub = new Hub(core, {
      ...parts,
      fits: (change) => clients().fits(change),
      isOwning: (channel) => shared()?.isOwning(channel),
      onBell: () => shared()?.poke(),
      onTimeMoved: () => clients().onTimeMoved(),
    });
    const { channels, cluster, engine, titles, saves } = this.hub;
    const hls = (this.hls = makeHls(core, this.names, (channel) => shared()?.remoteHls(channel)));
    this.recorder = makeRecorder(core, store, (salts) => clients().share({ type: 'salts', salts }));
    const stateOf = (channel: string) => engine.state(channel);
    const storeFault = () => store.fault();
    const hlsFaults = () => hls.faults;
    observeHub(metrics.registry, { clock, channels, titles, saves, config, stateOf, storeFault });
    observeHls(metrics.registry, hls);
    this.reloads = noReloads(clock.wallMs() / 1000);
    observeReloads(metrics.registry, () => this.reloads);
    if (cluster !== null) observeCluster(metrics.registry, cluster, shared);
    this.admin = new HubAdmin(core, channels, store, {
      onState: (state) => clients().share({ type: 'admin', state }),
      used: () => clients().used(),
      hlsOf: (channel) => hls.stateOf(channel),
      ...(cluster && { cluster: () => clusterReport(core, cluster, shared()) }),
    });
    this.pace = makePace(core);
    this.admissions = new Admissions(core, (channel) => channels.get(channel)?.encoder.source, {
      pace: this.pace,
      onAdmitted: (socket) => clients().onAdmitted(socket),
      onVerdict: (verdict) => clients().onVerdict(verdict),
    });
    const lostOwner = (channel: string) => shared()?.lostOwner(channel) ?? '';
    const { certificates, looks, leased } = makeCertificates(core, metrics.registry);
    this.#certificates = certificates;
    const ofTickets = makeTickets(core, (keys) => clients().share({ type: 'tickets', keys }));
    this.tickets = ofTickets.tickets;
    const listenersOf = (channel: string) => clients().listenersOf(channel);
    const typicalLagMs = (channel: string) => clients().typicalLagMs(channel);
    const sources = {
      channels,
      saves,
      stateOf,
      storeFault,
      hlsFaults,
      counts: () => clients().counts(),
      listenersOf,
      lostOwner,
      certificates: looks,
    };
    const { alerts, facts } = makeAlerts(core, sources, metrics.registry);
    this.alerts = alerts;
    const webhooks = makeWebhooks(core, { hub: this.hub, faces, typicalLagMs }, metrics.registry);
    this.#titlesOut = webhooks.titles;
    this.turns = webhooks.turns;
    this.moreLeases = () => [...(this.turns?.leased() ?? []), ...leased(), ...ofTickets.leased()];
    this.#covers = makeCovers(core, this.hub, this.turns, metrics.registry);
    const listing = { hub: this.hub, faces, turns: this.turns, listenersOf };
    this.#directories = makeDirectories(core, listing, metrics.registry);
    this.#asksAlone = config.cluster !== undefined && config.cluster.tapes === undefined;
    this.facts = facts;
    this.tasks = [
      (nowMs) => this.hub.tidy(nowMs),
      ...(cluster === null ? [] : [clusterWatch(cluster), clockWatch(clock, log)]),
      () => measured('statistics', () => this.recorder.onSecond()),
      (nowMs) => this.admin.tidy(nowMs),
      () => metrics.turn(),
      turnWatch(core),
      storeWatch(store, log),
      hlsWatch(hlsFaults, log),
      silenceWatch(channels, log),
      (nowMs) => alerts.look(nowMs),
      () => this.#titlesOut.tidy(),
      (nowMs) => certificates.look(nowMs),
      () => this.tickets.look(),
      (nowMs) => this.#directories.look(nowMs),
    ];
  }

  /** Puts in force what operators have made, and joins the cluster, whose time the statistics use. Before `restore`. */
  async join(): Promise<void> {
    this.admin.restore();
    await this.hub.join();
    this.recorder.restore(this.hub.channels.keys());
  }

  /** Puts committed titles on the tapes; from now on changes go to the clients. Before clients are served. */
  restore(): Promise<void> {
    const clients = this.parts.clients();
    const follow = () => {
      this.#titlesOut.follow();
      this.#covers.follow();
      this.#certificates.follow();
      this.tickets.look();
      this.#directories.follow();
    };
    follow();
    if (this.#asksAlone) this.turns?.start();
    return this.hub.restore({
      onRefreshed: follow,
      onLate: (channel, late) => clients.onLate(channel, late),
      onSourceChanged: (channel) => clients.onSourceChanged(channel),
      onChange: (channel, change, view) => {
        this.recorder.onTitle(channel, change.history);
        clients.onChange(channel, change, view);
        this.#titlesOut.deliver(channel, change, view);
        if (view !== null) this.#covers.onTitle(channel, view);
      },
    });
  }

  /** A copy of the store, beside it; resolves with its name in the data folder. */
  async backup(): Promise<string> {
    const { store } = this.parts;
    if (store.backup === undefined) throw new Error('this store has no backup');
    return await store.backup();
  }

  /** Admits no more encoders, and ends sources and alerts. Idempotent. Resolves when directories list nothing any more, or soon; never rejects. */
  stop(): Promise<void> {
    this.admissions.close();
    this.hub.stop();
    return this.endSending(false);
  }

  /**
   * Sends no more alerts and titles, and orders no more certificates. Idempotent.
   * @param isNext whether another process of this machine takes over in a moment
   */
  endSending(isNext: boolean): Promise<void> {
    this.alerts.close();
    this.#titlesOut.close();
    this.#covers.close();
    this.#certificates.close();
    void this.turns?.close(isNext);
    return this.#directories.close(isNext);
  }

  /** Saves the statistics, and closes the store. Never rejects because of the statistics. */
  async close(): Promise<void> {
    await this.recorder.save();
    await this.parts.store.close();
  }
}
