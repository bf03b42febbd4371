/**
 * All of a server that is where the channels are, once: hub, statistics over time, metrics, alerts, what operators ask of it, encoders that are let
 * in. In one process it stands beside the clients' side (app.ts), with workers in a process of its own (processes/hub-process.ts).
 */

import type { Socket } from 'node:net';
import type { AdminState } from '../../admin/admin-reports.js';
import type { Alerts } from '../../alerts/alerts.js';
import { measured } from '../../base/watchdog.js';
import type { SendingTurns } from '../../cluster/sending-turns.js';
import type { Leased } from '../../cluster/tapes/leases.js';
import type { SharedTapes } from '../../cluster/tapes/shared-tapes.js';
import type { Covers } from '../../covers/covers.js';
import type { Directories } from '../../directories/directories.js';
import type { HlsChannels } from '../../hls/hls-channels.js';
import type { RefusalPace } from '../../http/ingest/refusal-pace.js';
import type { EncoderVerdict } from '../../http/ingest/verdict.js';
import type { AcmeCertificates } from '../../net/acme/acme-certificates.js';
import type { Recorder } from '../../statistics/recorder.js';
import type { DaySalt } from '../../statistics/salts.js';
import type { TitlesOut } from '../../webhooks/titles-out.js';
import type { Core } from '../core.js';
import { observeHls } from '../metrics/hls-metrics.js';
import { observeHub } from '../metrics/hub-metrics.js';
import type { Metrics } from '../metrics/metrics.js';
import { noReloads, observeReloads, type ReloadResults } from '../reload-results.js';
import { Admissions } from './admissions.js';
import type { AlertFactsReader, AlertSources } from './alert-facts.js';
import { CertificateLooks } from './certificate-looks.js';
import { Hub, type HubOutput, type HubParts } from './hub.js';
import { HubAdmin, type HubAdminOutput } from './hub-admin.js';
import { makeAlerts } from './hub-alerts.js';
import { makeCertificates } from './hub-certificates.js';
import { clusterReport, clusterWatch, observeCluster } from './hub-cluster.js';
import { makeCovers } from './hub-covers.js';
import { makeDirectories } from './hub-directories.js';
import { makeRecorder } from './hub-statistics.js';
import { clockWatch, hlsWatch, silenceWatch, storeWatch, turnWatch } from './hub-watches.js';
import { type HubWebhookParts, makeWebhooks } from './hub-webhooks.js';

export interface HubSideParts extends HubParts {
  readonly metrics: Metrics;
  readonly pace: RefusalPace;
  /** The audio that machines share. Absent: none is. */
  shared?(): SharedTapes | null;
  /** By these unique listeners are counted from now on. */
  onSalts(salts: readonly DaySalt[]): void;
  onAdminState(state: AdminState): void;
  readonly used: HubAdminOutput['used'];
  onAdmitted(socket: Socket): void;
  onVerdict(verdict: EncoderVerdict): void;
  readonly counts: AlertSources['counts'];
  readonly listenersOf: AlertSources['listenersOf'];
  /** Once all is made. */
  hls(): HlsChannels;
  readonly typicalLagMs?: HubWebhookParts['typicalLagMs'];
}

export class HubSide {
  readonly hub: Hub;
  readonly recorder: Recorder;
  readonly admin: HubAdmin;
  readonly admissions: Admissions;
  readonly alerts: Alerts;
  readonly #titlesOut: TitlesOut;
  readonly #covers: Covers;
  readonly #certificates: AcmeCertificates;
  readonly #directories: Directories;
  /** Which machine of a cluster sends titles out; null: this one is alone. */
  readonly turns: SendingTurns | null;
  /** Leases beside those of the audio. */
  readonly moreLeases: () => Iterable<readonly [name: string, leased: Leased]>;
  /** In which alerts find what is wrong. */
  readonly facts: AlertFactsReader;
  /** What is due each second. */
  readonly tasks: readonly ((nowMs: number) => void)[];
  /** What became of reloads, for the metrics. */
  reloads: ReloadResults;
  readonly #parts: HubSideParts;
  /** Leases are asked for here, as no audio is shared. */
  readonly #asksAlone: boolean;

  constructor(core: Core, parts: HubSideParts) {
    const { config, clock, log } = core;
    const { store, metrics, pace, onAdmitted, onVerdict, onAdminState, used, onSalts, counts, listenersOf } = parts;
    this.#parts = parts;
    this.hub = new Hub(core, parts);
    const { channels, cluster, engine, titles, saves } = this.hub;
    const shared = () => parts.shared?.() ?? null;
    this.recorder = makeRecorder(core, store, onSalts);
    const stateOf = (channel: string) => engine.state(channel);
    const storeFault = () => store.fault();
    const hlsFaults = () => parts.hls().faults;
    observeHub(metrics.registry, { clock, channels, titles, saves, config, stateOf, storeFault });
    observeHls(metrics.registry, () => parts.hls());
    this.reloads = noReloads(clock.wallMs() / 1000);
    observeReloads(metrics.registry, () => this.reloads);
    if (cluster !== null) observeCluster(metrics.registry, cluster, shared);
    this.admin = new HubAdmin(core, channels, store, {
      onState: onAdminState,
      used,
      hlsOf: (channel) => parts.hls().stateOf(channel),
      ...(cluster && { cluster: () => clusterReport(core, cluster, shared()) }),
    });
    this.admissions = new Admissions(core, (channel) => channels.get(channel)?.encoder.place, {
      pace,
      onAdmitted,
      onVerdict,
    });
    const lostOwner = (channel: string) => shared()?.lostOwner(channel) ?? '';
    const { certificates, leased } = makeCertificates(core, metrics.registry);
    this.#certificates = certificates;
    const looks = new CertificateLooks({
      config,
      now: () => clock.now(),
      problemOf: (name) => certificates.all.get(name)?.problem ?? null,
    });
    looks.observe(metrics.registry);
    const sources = {
      channels,
      saves,
      stateOf,
      storeFault,
      hlsFaults,
      counts,
      listenersOf,
      lostOwner,
      certificates: looks,
    };
    const { alerts, facts } = makeAlerts(core, sources, metrics.registry);
    this.alerts = alerts;
    const webhooks = makeWebhooks(core, { ...parts, hub: this.hub }, metrics.registry);
    this.#titlesOut = webhooks.titles;
    this.turns = webhooks.turns;
    this.moreLeases = () => [...(this.turns?.leased() ?? []), ...leased()];
    this.#covers = makeCovers(core, this.hub, this.turns, metrics.registry);
    const listing = { hub: this.hub, faces: parts.faces, turns: this.turns, listenersOf };
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
      (nowMs) => this.#directories.look(nowMs),
    ];
  }

  /** What operators have made is in force, and what all machines have in common; by their time the statistics go. Before `restore`. */
  async join(): Promise<void> {
    this.admin.restore();
    await this.hub.join();
    this.recorder.restore(this.hub.channels.keys());
  }

  /** As Hub.restore. */
  restore(output: HubOutput): Promise<void> {
    const follow = () => {
      this.#titlesOut.follow();
      this.#covers.follow();
      this.#certificates.follow();
      this.#directories.follow();
    };
    follow();
    if (this.#asksAlone) this.turns?.start();
    return this.hub.restore({
      ...output,
      onRefreshed: follow,
      onChange: (channel, change, view) => {
        this.recorder.onTitle(channel, change.history);
        output.onChange(channel, change, view);
        this.#titlesOut.deliver(channel, change, view);
        if (view !== null) this.#covers.onTitle(channel, view);
      },
    });
  }

  /** No encoder is admitted any more, sources and alerts end. Idempotent. Resolves when directories list nothing any more, or soon; never rejects. */
  stop(): Promise<void> {
    this.admissions.close();
    this.hub.stop();
    return this.endSending(false);
  }

  /**
   * Alerts and titles go out no more, no certificate is ordered. Idempotent.
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

  /** What was counted is kept, and the store is closed. Never rejects for the statistics. */
  async close(): Promise<void> {
    await this.recorder.save();
    await this.#parts.store.close();
  }
}
