/** The clients of all workers, as the hub reaches them: over the links, and by the shared counts. */

import type { ProcessQuestions } from '../../admin/admin-schema.js';
import { LISTENERS_OF_CHANNELS, type Mount } from '../../channel/mount.js';
import type { HlsOfNode } from '../../cluster/tapes/tape-giving.js';
import { HubLinks } from '../../link/hub-links.js';
import { TypicalLag } from '../../listener/player/typical-lag.js';
import type { Core } from '../core.js';
import { observeProcesses } from '../metrics/hub-metrics.js';
import { KeptMetrics } from '../metrics/kept-metrics.js';
import { MetricRegistry } from '../metrics/registry.js';
import { ENCODER_CONNECTIONS } from '../metrics/worker-metrics.js';
import { EncoderVerdicts } from '../worker/encoder-verdicts.js';
import { lastRefusals, linesOf } from '../worker/process-admin.js';
import type { HubClients } from './hub-clients.js';
import { HubConnections } from './hub-connections.js';
import { hlsOfChannels } from './hub-hls.js';
import type { HubSide } from './hub-side.js';

/** How often processes were started again. */
type Restarts = Readonly<Record<'hub' | 'worker', number>>;

/** Maximum number of keys in the counts of a process: for each connection (by address), for each channel, and others. */
const [KEYS_OF_CONNECTION, KEYS_OF_CHANNEL, OTHER_KEYS] = [8, 1000, 10_000];

export class LinkedClients implements HubClients {
  readonly links: HubLinks;
  /** The HLS of the channels here, for workers and other machines. */
  readonly hls: HlsOfNode;
  /** Encoders' sockets that workers have passed on. */
  readonly connections: HubConnections;
  readonly onChange: HubClients['onChange'] = (channel, change) => this.links.onChange(channel, change);
  /** Workers get it over the link, among the segments. */
  readonly onLate = () => undefined;
  /** Other machines are notified at once that audio is expected. */
  readonly onSourceChanged = (channel: string) => {
    this.links.sourceChanged(channel);
    this.#side.parts.shared()?.poke();
  };
  readonly share: HubClients['share'] = (message) => this.links.share(message);
  readonly onTimeMoved = () => this.links.shareTime();
  /** They are counted by `connections`. */
  readonly onAdmitted = () => undefined;
  readonly onVerdict: HubClients['onVerdict'];
  readonly used: HubClients['used'] = async () =>
    (await this.links.everywhere({ question: 'used', ask: null })) as ProcessQuestions['used']['answer'][];
  readonly fits: HubClients['fits'] = (change) => this.links.fits(change);
  /** Includes those of this process, which no message has. */
  readonly counts: HubClients['counts'] = () => {
    const { all } = this.#core.tallies;
    const [connections, listeners] = [all.count('connections'), all.count('listeners')];
    return { connections, listeners, watchers: all.count('watchers') };
  };
  readonly listenersOf: HubClients['listenersOf'] = (channel) =>
    this.#core.tallies.tally(LISTENERS_OF_CHANNELS).count(channel);
  /** As reported by the workers, which have the listeners. */
  readonly typicalLagMs: HubClients['typicalLagMs'] = (channel) => {
    const lagMs = this.#lags.typicalLagMs(channel);
    return lagMs === null ? 0 : lagMs + this.#side.hub.channels.get(channel)!.audio.delayedMs;
  };
  readonly #core: Core;
  readonly #side: HubSide;
  readonly #lags: TypicalLag;
  /** By path. */
  readonly #mounts = new Map<string, Mount>();
  /** Null: not known yet. */
  #restarts: Restarts | null = null;
  #hasLostWorker = false;

  /** @param onError called with the fault of a link */
  constructor(core: Core, side: HubSide, onError: (error: unknown) => void) {
    this.#core = core;
    this.#side = side;
    const { registry } = side.parts.metrics;
    this.hls = hlsOfChannels(side.hls, side.hub.channels);
    this.links = this.#makeLinks(onError);
    observeProcesses(registry, { workers: this.links, restarts: () => this.#restarts ?? { hub: 0, worker: 0 } });
    this.connections = new HubConnections(core.tallies);
    this.connections.observe(registry);
    const verdicts = new EncoderVerdicts(core, this.#mounts);
    this.onVerdict = verdicts.onVerdict;
    registry.counts(...ENCODER_CONNECTIONS, verdicts.counts);
    this.#lags = new TypicalLag(core.clock, [], core.tallies);
    this.collectMounts();
  }

  #makeLinks(onError: (error: unknown) => void): HubLinks {
    const { config, clock, tallies, refusals, lines, process } = this.#core;
    const { hub, names, recorder, admin, tickets, parts } = this.#side;
    const { store, sequence, shared, metrics } = parts;
    const { channels } = hub;
    const kept = new KeptMetrics();
    return new HubLinks({
      clock,
      channels,
      names,
      sequence,
      tallies,
      onError,
      states: hub.engine,
      decisions: hub.decider,
      hls: this.hls,
      keys: () => channels.keys(),
      remembered: config.limits.addressesRemembered,
      // A private listener of HLS has a key beside its metaid.
      maxMetaids: () => config.sessions.max + 2 * config.limits.listeners + config.limits.watchers,
      // A player of HLS counts for a while without a connection.
      maxKeys: () =>
        KEYS_OF_CONNECTION * config.limits.connections +
        config.limits.listeners +
        KEYS_OF_CHANNEL * channels.size +
        OTHER_KEYS,
      storeFault: () => store.fault(),
      remoteAudio: (channel) => shared()?.remoteAudio(channel),
      onTickets: (keys) => tickets.offer(keys),
      onFigures: (figures, worker) => recorder.add(figures, worker),
      onGone: () => {
        this.#hasLostWorker = true;
      },
      onAdmin: (question, ask) => admin.answer(question, ask),
      ownAnswer: ({ question, ask }) => {
        if (question === 'refusals') return lastRefusals(refusals);
        return question === 'log' ? linesOf(lines, (ask as { afterMs: number }).afterMs, process) : undefined;
      },
      metrics: async (workers, linked) =>
        MetricRegistry.sum([...(await kept.with(workers, linked)), await metrics.registry.plain()]),
      onLastMetrics: (worker, last) => kept.keep(worker, last),
    });
  }

  /** The mounts of the channels, which have changed in place. */
  collectMounts(): void {
    this.#mounts.clear();
    for (const { mounts } of this.#side.hub.served.values())
      for (const mount of mounts) this.#mounts.set(mount.path, mount);
  }

  /** Called once a second: by then the system has released what an ended worker held. */
  tidy(): void {
    if (this.#hasLostWorker) this.#side.parts.store.checkReaders?.();
    this.#hasLostWorker = false;
  }

  /** The first count includes restarts before this hub. */
  restarted(restarts: Restarts): void {
    const died = this.#restarts === null ? 0 : restarts.worker - this.#restarts.worker;
    for (let i = 0; i < died; i++) this.#side.facts.died('worker');
    this.#restarts = restarts;
  }
}
