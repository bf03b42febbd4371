/** Creates the engine of a cluster node: its options, its log lines, its metrics. */

import { readFileSync } from 'node:fs';
import type { ClusterPlace, ClusterReport } from '../../admin/cluster-report.js';
import { type Clock, WRONG_CLOCK_MS } from '../../base/clock.js';
import { ClusterTime } from '../../cluster/cluster-time.js';
import { HeldLog } from '../../cluster/log/held-log.js';
import { RedisLog } from '../../cluster/log/redis-log.js';
import { answering, RemoteLog } from '../../cluster/log/remote-log.js';
import type { OpenSharedLog } from '../../cluster/log/shared-log.js';
import type { SharedTapes } from '../../cluster/tapes/shared-tapes.js';
import { askForLog } from '../../cluster/tapes/tape-client.js';
import type { Difference } from '../../cluster/titles/channel-settings.js';
import { ClusterEngine } from '../../cluster/titles/cluster-engine.js';
import type { ClusterConfig } from '../../config/schema.js';
import { LeftAlone, machineAt } from '../../link/wire/left-alone.js';
import type { Deliver } from '../../titles/engine.js';
import type { Core } from '../core.js';
import type { MetricRegistry } from '../metrics/registry.js';
import { badRecords } from './bad-records.js';
import { ReachLog } from './reach-log.js';
import { type EngineParts, watchedStore } from './titles.js';

/** How often the node's position in the log is saved. */
const POSITION_MS = 5000;
/** A name that is used twice is found three times a second, until it is corrected. */
const NAME_TAKEN_MS = 60_000;

export interface ClusterParts extends EngineParts {
  /** A committed change, whichever machine decided it. */
  onChange: Deliver;
  /** The owner of a channel has changed, or its facts. */
  onBell(): void;
  /** The cluster time has moved. */
  onTimeMoved(): void;
}

const NAMES: Readonly<Record<ClusterPlace, string>> = {
  Redis: 'Redis',
  'an origin': 'the origin',
  here: 'the shared log',
};

function logPlaceOf({ url, origins }: ClusterConfig): ClusterPlace {
  return url !== undefined ? 'Redis' : origins.length > 0 ? 'an origin' : 'here';
}

/** How this machine reaches the shared log. */
function wayToLog({ url, origins, node, tapes, ...cluster }: ClusterConfig, clock: Clock): OpenSharedLog {
  const answerMs = cluster.answerSeconds * 1000;
  const pem = (path: string | undefined) => (path === undefined ? undefined : readFileSync(path));
  if (url !== undefined) {
    const { sentinels, master, prefix, caFile } = cluster;
    const options = { url, sentinels, master, answerMs, ca: pem(caFile) };
    return (onLost) => RedisLog.open(options, prefix, onLost);
  }
  if (origins.length === 0) {
    const held = new HeldLog(Date.now, cluster.logChanges);
    return (onLost) => Promise.resolve(held.open(onLost));
  }
  const client = { node, secret: tapes!.secret.export(), ca: pem(tapes!.caFile) };
  const alone = new LeftAlone(clock);
  const onBroken = (error: unknown) => alone.note(error);
  return async (onLost) => {
    let reason: unknown;
    for (const origin of origins) {
      const peer = machineAt(origin);
      try {
        if (alone.has(peer)) throw new Error(`the ${peer} violated the protocol and is not asked again for now`);
        const stream = await askForLog(origin, client);
        return await answering(new RemoteLog(stream, answerMs, clock, onLost, { peer, onBroken }));
      } catch (error) {
        reason = error;
      }
    }
    throw reason;
  };
}

export function makeClusterEngine(core: Core, cluster: ClusterConfig, parts: ClusterParts): ClusterEngine {
  const { clock, log, repeats } = core;
  const { sequence, has, onChange } = parts;
  const { node } = cluster;
  const reach = new ReachLog(log, clock, node, NAMES[logPlaceOf(cluster)]);
  return new ClusterEngine({
    store: watchedStore(core, parts),
    sequence,
    has,
    options: { node, logEntries: cluster.logChanges, waitingChanges: cluster.waitingChanges },
    open: wayToLog(cluster, clock),
    makeTime: (skewMs) => new ClusterTime(clock, skewMs, parts.onTimeMoved),
    deliver: onChange,
    onBell: () => parts.onBell(),
    onReached: (reason) => reach.note(reason),
    onDropped: (channel) =>
      repeats.warn(
        'cluster dropped',
        { channel },
        'too many changes wait to be sent: the oldest stay only in the local history',
      ),
    onBad: badRecords(repeats),
    onError: (error) => repeats.warn('cluster', { err: error }, 'a problem with the shared log'),
  });
}

/** Logs that another machine uses the name of this one. */
export function nameTaken({ repeats }: Pick<Core, 'repeats'>, { node }: Pick<ClusterConfig, 'node'>): () => void {
  const line = 'another machine of the cluster has the same name: rename one of them';
  return () => repeats.warn('cluster name', { node }, line, NAME_TAKEN_MS);
}

/** What an operator has to correct, one line each. */
function warningsOf({ clock }: Pick<Core, 'clock'>, place: string, differences: readonly Difference[]): string[] {
  const { skewMs } = clock;
  const off = `${(Math.abs(skewMs) / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the clock of ${place}`;
  return [
    ...(Math.abs(skewMs) < WRONG_CLOCK_MS ? [] : [`the clock of this machine is ${off}`]),
    ...differences.map(
      ({ channel, option, node, here, there }) => `channel ${channel}: ${option} is ${here} here, ${there} at ${node}`,
    ),
  ];
}

/** Saves the node's position in the log now and then. Called once a second. */
export function clusterWatch(engine: ClusterEngine): (nowMs: number) => void {
  let savedMs = Number.NEGATIVE_INFINITY;
  return (nowMs) => {
    if (nowMs - savedMs < POSITION_MS) return;
    savedMs = nowMs;
    void engine.savePosition();
  };
}

/** What this machine knows of the cluster, for an operator. */
export function clusterReport(
  { config, clock }: Pick<Core, 'config' | 'clock'>,
  engine: ClusterEngine,
  shared: SharedTapes | null,
): ClusterReport {
  const nowMs = clock.wallMs();
  const seconds = (ms: number) => Math.round(ms / 100) / 10;
  return {
    node: config.cluster!.node,
    log: {
      place: logPlaceOf(config.cluster!),
      reached: engine.isReached,
      behindSeconds: seconds(engine.behindMs),
      clockSeconds: Math.round(clock.skewMs) / 1000,
      waitingChanges: engine.waiting,
      position: engine.seq,
    },
    warnings: warningsOf({ clock }, NAMES[logPlaceOf(config.cluster!)], shared?.differences ?? []),
    nodes: [...(shared?.nodes ?? [])].map(([node, { seenMs }]) => ({
      node,
      seenSeconds: seconds(Math.max(0, nowMs - seenMs)),
    })),
    channels: (shared?.owners ?? []).map(({ channel, node, epoch, phase }) => ({
      channelkey: channel,
      owner: node,
      epoch,
      phase,
    })),
  };
}

/** @param shared null: audio is not shared */
export function observeCluster(
  registry: MetricRegistry,
  engine: ClusterEngine,
  shared: () => SharedTapes | null = () => null,
): void {
  registry.gauge('airsplice_cluster_reached', '1 while the shared log is reachable: Redis, or an origin', [], (set) =>
    set({}, engine.isReached ? 1 : 0),
  );
  registry.gauge('airsplice_cluster_waiting_changes', 'Changes waiting to be sent to all machines', [], (set) =>
    set({}, engine.waiting),
  );
  registry.counter('airsplice_cluster_log_position', 'Last change of the log known here', [], (set) =>
    set({}, engine.seq),
  );
  registry.gauge(
    'airsplice_cluster_clock_seconds',
    'How far the clock of this machine is ahead of the clock of Redis or of the origin',
    [],
    (set) => set({}, engine.time.skewMs / 1000),
  );
  registry.gauge(
    'airsplice_cluster_behind_seconds',
    'Time since this machine was last known to have all changes; normally less than two seconds',
    [],
    (set) => set({}, engine.behindMs / 1000),
  );
  registry.gauge(
    'airsplice_cluster_owner_epoch',
    'How often the machine that feeds the channel (node) has changed; absent: none feeds it, or audio is not shared',
    ['channel', 'node'],
    (set) => {
      for (const { channel, node, epoch } of shared()?.owners ?? []) if (node !== '') set({ channel, node }, epoch);
    },
  );
  registry.gauge(
    'airsplice_cluster_tape_lost',
    '1 while no audio arrives from the machine that feeds the channel, and a local source plays instead',
    ['channel', 'node'],
    (set) => {
      for (const { channel } of shared()?.owners ?? []) {
        const node = shared()!.lostOwner(channel);
        if (node !== '') set({ channel, node }, 1);
      }
    },
  );
}
