/**
 * The side of a server that clients reach: the worker with its statistics, its addresses, its tasks of each second. In one process it is beside the
 * side of the channels (app.ts), which sees it as its clients; with workers each of them has one (linked-worker.ts).
 */

import type { SystemClock } from '../../base/clock.js';
import type { Output } from '../../base/output.js';
import { measured } from '../../base/watchdog.js';
import type { SharedMessage } from '../../link/control-schema.js';
import type { RecordView } from '../../metadata/view.js';
import { TicketKeysInForce } from '../../net/tls/session-tickets.js';
import type { Change } from '../../now-playing/state.js';
import type { MinuteFigures } from '../../statistics/figures.js';
import { Addresses, type NextAddresses } from '../addresses/addresses.js';
import type { Core } from '../core.js';
import type { ChannelChanges } from '../hub/channels.js';
import type { HubClients } from '../hub/hub-clients.js';
import { ListenerCounting } from '../hub/hub-statistics.js';
import type { Metrics } from '../metrics/metrics.js';
import { observeWorker } from '../metrics/worker-metrics.js';
import { type ReloadSteps, takeConfig } from '../reload.js';
import { Worker, type WorkerParts } from './worker.js';

export interface ClientSideParts extends Omit<WorkerParts, 'onJoin' | 'tokenKey'> {
  readonly clock: SystemClock;
  readonly metrics: Metrics;
  /** What listeners did in a minute. */
  onFigures(figures: MinuteFigures): void;
}

export interface Served {
  /** Where the addresses listen: whether clients are served, for /readyz. */
  isReady(): boolean;
  /** As Prometheus reads them. */
  metrics(): Promise<string>;
}

export class ClientSide implements HubClients {
  readonly worker: Worker;
  readonly counting: ListenerCounting;
  readonly addresses: Addresses;
  readonly tickets = new TicketKeysInForce();
  readonly accessLog: Output | null;
  /** What is due each second. */
  readonly tasks: readonly ((nowMs: number) => void)[];
  readonly #core: Core;
  readonly #parts: ClientSideParts;
  readonly fits = () => true;
  readonly onSourceChanged = () => undefined;
  readonly onTimeMoved = () => undefined;
  readonly onLate: HubClients['onLate'] = (channel, late) => this.worker.sessions.late(channel, late);
  readonly onAdmitted: HubClients['onAdmitted'] = (socket) => this.worker.network.guards.connections.admit(socket);
  readonly onVerdict: HubClients['onVerdict'] = (verdict) => this.worker.verdicts.onVerdict(verdict);
  readonly used: HubClients['used'] = async () => [this.worker.admin.answer('used', null)];
  readonly listenersOf: HubClients['listenersOf'] = (channel) => this.worker.channels.get(channel)!.audio.listeners;
  readonly counts: HubClients['counts'] = () => {
    const { network, audience } = this.worker;
    const watchers = network.readers.watch.watchers.count;
    return { connections: network.guards.connections.count, listeners: audience.count, watchers };
  };
  readonly typicalLagMs: HubClients['typicalLagMs'] = (channel) =>
    this.worker.audience.typicalLagMs(this.worker.channels.get(channel)!.audio) ?? 0;
  #isListening = false;
  /** Accepts no more connections, but serves the present ones. */
  #isDraining = false;

  constructor(core: Core, parts: ClientSideParts) {
    const { clock, metrics, faces, accessLog, onFigures } = parts;
    this.#core = core;
    this.#parts = parts;
    this.accessLog = accessLog;
    this.counting = new ListenerCounting(core, faces.byChannel, onFigures);
    const { counting, tickets } = this;
    this.worker = new Worker(core, { ...parts, onJoin: counting.observe, tokenKey: () => tickets.tokenKey });
    const { worker } = this;
    this.addresses = new Addresses({ config: core.config, network: worker.network, clock, log: core.log, tickets });
    observeWorker(metrics.registry, worker);
    metrics.registry.counts(
      'airsplice_tls_handshakes_total',
      'Successful TLS handshakes: full ones, and those that resume a session by its ticket',
      'kind',
      this.addresses.handshakes.finishedCounts,
    );
    this.tasks = [
      (nowMs) => worker.tidy(nowMs),
      () => measured('statistics', () => counting.tidy()),
      () => accessLog?.flush(),
    ];
  }

  /** Puts committed titles in force, before clients are served. */
  restore(): void {
    this.worker.readers.restore(this.#parts.states);
    this.titles(this.#parts.faces.byChannel.keys());
  }

  /** The link to the hub was lost, and is there again. */
  catchUp(): void {
    this.titles(this.#parts.faces.byChannel.keys());
    this.worker.readers.catchUp(this.#parts.states);
  }

  /** Takes state that all processes share. */
  share(message: SharedMessage): void {
    if (message.type === 'salts') this.counting.collector.setSalts(message.salts);
    else if (message.type === 'tickets') this.tickets.set(message.keys);
    else this.worker.admin.set(message.state);
  }

  /** A committed change. @param view of its record, where it has one */
  onChange(channel: string, change: Change, view: RecordView | null): void {
    this.counting.setTitle(channel, change.state);
    this.worker.readers.deliver(channel, change, view);
  }

  /** What is on air on these channels, for the statistics. */
  titles(channels: Iterable<string>): void {
    for (const channel of channels) this.counting.setTitle(channel, this.#parts.states.state(channel));
  }

  /** Ready for clients; nothing listens yet. */
  async prepare({ isReady, metrics }: Served): Promise<void> {
    const side = this;
    await this.worker.network.ready({
      get ready() {
        return side.#isListening && isReady();
      },
      metricsType: this.#parts.metrics.registry.contentType,
      metrics,
    });
  }

  /** Rejects if a port is not available. */
  async listen(): Promise<Awaited<ReturnType<Addresses['listen']>>> {
    const ports = await this.addresses.listen();
    this.#isListening = true;
    return ports;
  }

  /**
   * The steps of a reload here.
   * @param refresh updates the channels to those of the next configuration, once that is in force
   */
  steps(refresh: () => ChannelChanges): ReloadSteps {
    const { addresses, worker } = this;
    const { faces } = this.#parts;
    let ports: NextAddresses | null = null;
    return {
      prepare: (next) => {
        ports = null;
        if (!this.#isDraining) ports = addresses.next(next);
        ports?.makeWay();
      },
      listen: async () => await ports?.listen(),
      commit: (next) => {
        ports?.take();
        measured('reload', () => {
          const { isHookChanged } = takeConfig(this.#core, next);
          faces.refresh();
          const changes = refresh();
          this.titles(changes.added);
          worker.refresh(changes, isHookChanged);
        });
      },
      discard: () => ports?.discard(),
      restore: async () => await ports?.restore(),
    };
  }

  /** Accepts no more connections. Resolves when the last one has ended, and no private player of HLS sends requests any more, to any worker. */
  async leave(): Promise<void> {
    this.#isDraining = true;
    this.worker.network.router.leave();
    await this.addresses.drain();
    await this.worker.network.streams.hlsListeners.left();
  }

  /** Accepts no more clients, and ends the present ones. Returns what to wait for. Idempotent. */
  drain(): Readonly<Record<'requests' | 'connections', Promise<unknown>>> {
    const { network } = this.worker;
    this.#isListening = false;
    const connections = this.addresses.close().then(() => network.streams.settled());
    network.drain();
    return { requests: network.close(), connections };
  }
}
