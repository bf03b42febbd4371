/** The engine of a node of a cluster, as the server has it: its options, its lines in the log, its metrics. */

import { readFileSync } from 'node:fs';
import { ClusterEngine } from '../cluster/cluster-engine.js';
import { SharedTapes, type SharedTapesParts } from '../cluster/shared-tapes.js';
import type { ClusterConfig } from '../config/schema.js';
import type { ClusterReport } from '../link/admin-reports.js';
import { OtherVersion } from '../link/version.js';
import type { Deliver } from '../titles/engine.js';
import type { Core } from './core.js';
import type { MetricRegistry } from './registry.js';
import { type EngineParts, watchedStore } from './titles.js';

/** How often it is kept how far this node has come. */
const PLACE_MS = 5000;

export interface ClusterParts extends EngineParts {
  has(channel: string): boolean;
  /** A change that was decided here. */
  onChange: Deliver;
  /** A change that another node has decided, or that comes of a merge. */
  onForeignChange: Deliver;
}

export function makeClusterEngine(core: Core, cluster: ClusterConfig, parts: ClusterParts): ClusterEngine {
  const { clock, log, repeats } = core;
  const { sequence, has, onChange, onForeignChange } = parts;
  const { node } = cluster;
  let isReached: boolean | null = null;
  return new ClusterEngine({
    ...{ store: watchedStore(core, parts), sequence, has },
    options: {
      ...{ url: cluster.url, sentinels: cluster.sentinels, master: cluster.master, prefix: cluster.prefix, node },
      ...{ logEntries: cluster.logChanges, waitingChanges: cluster.waitingChanges },
      answerMs: cluster.answerSeconds * 1000,
      ca: cluster.caFile === undefined ? undefined : readFileSync(cluster.caFile),
    },
    wallMs: () => clock.wallMs(),
    deliver: (channel, change, isOwn) => (isOwn ? onChange(channel, change) : onForeignChange(channel, change)),
    onReached: (reason) => {
      const isNow = reason === null;
      if (isNow !== isReached && isNow) log.info({ node }, 'Redis is reached: titles are those of all machines');
      if (isNow !== isReached && !isNow) {
        log.warn({ node, reason: reason.message }, 'Redis is away: titles are kept here, and sent when it is back');
      }
      isReached = isNow;
    },
    onDropped: (channel) =>
      repeats.warn(
        'cluster dropped',
        { channel },
        'too many changes wait for Redis: the oldest stand in the history here only',
      ),
    onError: (error) => repeats.warn('cluster', { err: error }, 'a problem with what all machines have in common'),
  });
}

/** The audio that this node shares with others. Null: titles alone are shared. Before the sources run. */
export function makeSharedTapes(
  { config, clock, log, onError, repeats }: Core,
  parts: Pick<
    SharedTapesParts,
    'engine' | 'channels' | 'names' | 'sessions' | 'counted' | 'onMoved' | 'onFacts' | 'onOwned'
  >,
): SharedTapes | null {
  const { cluster } = config;
  if (cluster?.tapes === undefined) return null;
  const { host, port, advertise, secret, tls, caFile } = cluster.tapes;
  return new SharedTapes({
    ...{ ...parts, clock, log },
    options: {
      ...{ node: cluster.node, mayFeed: cluster.sources, host, port, advertise, secret: secret.export() },
      tls: tls && { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) },
      ca: caFile === undefined ? undefined : readFileSync(caFile),
    },
    onNameTwice: () =>
      repeats.warn(
        'cluster name',
        { node: cluster.node },
        'another machine of the cluster has the name of this one: give it its own',
      ),
    onError: (error) => {
      if (!(error instanceof OtherVersion)) onError(error);
      else repeats.warn('cluster version', { version: error.version }, `${error.message}: its tapes are not taken`);
    },
  });
}

/** Keeps how far this node has come, now and then. Asked once a second. */
export function clusterWatch(engine: ClusterEngine): (nowMs: number) => void {
  let savedMs = Number.NEGATIVE_INFINITY;
  return (nowMs) => {
    if (nowMs - savedMs < PLACE_MS) return;
    savedMs = nowMs;
    void engine.savePlace();
  };
}

/** What this machine knows of the cluster, for an operator. */
export function clusterReport(
  { config, clock }: Pick<Core, 'config' | 'clock'>,
  engine: ClusterEngine,
  shared: SharedTapes | null,
): ClusterReport {
  const nowMs = clock.wallMs() + engine.aheadMs;
  const seconds = (ms: number) => Math.round(ms / 100) / 10;
  return {
    node: config.cluster!.node,
    redis: {
      reached: engine.redis !== null,
      behindSeconds: seconds(engine.behindMs),
      clockSeconds: Math.round(engine.aheadMs) / 1000,
      waitingChanges: engine.waiting,
      position: engine.seq,
    },
    nodes: [...(shared?.nodes ?? [])].map(([node, { seenMs }]) => ({
      node,
      seenSeconds: seconds(Math.max(0, nowMs - seenMs)),
    })),
    channels: (shared?.owners ?? []).map(({ channel, node, epoch, phase }) => ({
      ...{ channelkey: channel, owner: node, epoch, phase },
    })),
  };
}

/** @param shared null: audio is not shared */
export function observeCluster(
  registry: MetricRegistry,
  engine: ClusterEngine,
  shared: () => SharedTapes | null = () => null,
): void {
  registry.gauge('airsplice_cluster_reached', '1 while Redis is reached', [], (set) =>
    set({}, engine.redis === null ? 0 : 1),
  );
  registry.gauge('airsplice_cluster_waiting_changes', 'Changes that wait for Redis', [], (set) =>
    set({}, engine.waiting),
  );
  registry.counter('airsplice_cluster_log_position', 'The last change of the log that is known here', [], (set) =>
    set({}, engine.seq),
  );
  registry.gauge(
    'airsplice_cluster_clock_seconds',
    'How far the clock of Redis is before the one of this machine',
    [],
    (set) => set({}, engine.aheadMs / 1000),
  );
  registry.gauge(
    'airsplice_cluster_behind_seconds',
    'Since what this machine knows of the changes was known to be all of them; less than two while all is well',
    [],
    (set) => set({}, engine.behindMs / 1000),
  );
  registry.gauge(
    'airsplice_cluster_owner_epoch',
    'Which machine feeds the channel, and how often that has changed; absent: nobody, or audio is not shared',
    ['channel', 'node'],
    (set) => {
      for (const { channel, node, epoch } of shared()?.owners ?? []) if (node !== '') set({ channel, node }, epoch);
    },
  );
}
