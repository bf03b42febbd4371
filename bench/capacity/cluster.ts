/**
 * A model of a cluster of edges: listeners choose channels by Zipf's law (the audience of rank r is proportional to 1 / r^s) and edges at random, as
 * by a balancer. From a seed, so that the same plan gives the same cluster. The load of each edge follows from the costs of a listener and a channel.
 */

import type { Costs } from './costs.js';
import { listenerBits, listenerBytes, listenerCores } from './machine.js';

export interface ClusterPlan {
  readonly listeners: number;
  readonly channels: number;
  readonly edges: number;
  readonly kbps: number;
  /** `s` in Zipf's law. */
  readonly exponent: number;
  readonly seed: number;
}

export interface Edge {
  readonly listeners: number;
  /** Channels with a listener at this edge; each tape is fetched once. */
  readonly channels: number;
  readonly cores: number;
  readonly bytes: number;
  /** Bits per second, to listeners and from the owners. */
  readonly outBits: number;
  readonly inBits: number;
}

export interface Cluster {
  readonly edges: readonly Edge[];
  /** Bits per second of all owners together, to the edges. */
  readonly originBits: number;
}

/** A generator of random numbers from 0 to 1 (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Listeners of each channel, in descending order; the sum is `listeners`. */
export function audiences({ listeners, channels, exponent }: ClusterPlan): number[] {
  const weights = Array.from({ length: channels }, (_, rank) => 1 / (rank + 1) ** exponent);
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const counts = weights.map((weight) => Math.floor((listeners * weight) / sum));
  let left = listeners - counts.reduce((all, count) => all + count, 0);
  for (let rank = 0; left > 0; rank = (rank + 1) % channels, left--) counts[rank]!++;
  return counts;
}

export function simulate(costs: Costs, plan: ClusterPlan): Cluster {
  const random = randomOf(plan.seed);
  const listeners = new Int32Array(plan.edges);
  const channels = new Int32Array(plan.edges);
  const isThere = new Int32Array(plan.edges).fill(-1);
  for (const [channel, count] of audiences(plan).entries()) {
    for (let i = 0; i < count; i++) {
      const edge = Math.floor(random() * plan.edges);
      listeners[edge]!++;
      if (isThere[edge] === channel) continue;
      isThere[edge] = channel;
      channels[edge]!++;
    }
  }
  const { kbps } = plan;
  const edges = Array.from(listeners, (count, i) => ({
    listeners: count,
    channels: channels[i]!,
    // Playing a channel's tape costs as much as feeding it: it is read, framed by segments and passed on.
    cores: count * listenerCores(costs, kbps) + channels[i]! * costs.channelCores.value,
    bytes: costs.processBytes.value * 3 + count * listenerBytes(costs) + channels[i]! * costs.channelBytes.value,
    outBits: count * listenerBits(costs, kbps),
    inBits: channels[i]! * listenerBits(costs, kbps),
  }));
  return { edges, originBits: edges.reduce((all, { inBits }) => all + inBits, 0) };
}

/** The loss of one edge, whose listeners connect to the others at once. */
export interface Storm {
  readonly joins: number;
  readonly joinsOfEach: number;
  /** Time for each remaining edge to serve its new listeners with its spare cores. */
  readonly cpuSeconds: number;
  /** Time by its spare network capacity, since a join takes the burst at once. */
  readonly networkSeconds: number;
  readonly limit: 'cores' | 'network';
}

/** @param coresOfEach cores of a machine @param bitsOfEach its network's bits per second */
export function storm(
  costs: Costs,
  { edges }: Cluster,
  { kbps }: Pick<ClusterPlan, 'kbps'>,
  {
    coresOfEach,
    bitsOfEach,
    burstSeconds,
  }: { readonly coresOfEach: number; readonly bitsOfEach: number; readonly burstSeconds: number },
): Storm {
  const [lost, ...rest] = [...edges].sort((one, other) => other.listeners - one.listeners);
  const joins = lost?.listeners ?? 0;
  const joinsOfEach = Math.ceil(joins / Math.max(1, rest.length));
  const most = rest.reduce((highest, edge) => Math.max(highest, edge.cores), 0);
  const maxBits = rest.reduce((highest, edge) => Math.max(highest, edge.outBits), 0);
  const spareCores = Math.max(1e-9, coresOfEach - most);
  const spareBits = Math.max(1e-9, bitsOfEach - maxBits);
  const cpuSeconds = (joinsOfEach * costs.joinSeconds.value) / spareCores;
  const networkSeconds = (joinsOfEach * listenerBits(costs, kbps) * burstSeconds) / spareBits;
  return { joins, joinsOfEach, cpuSeconds, networkSeconds, limit: cpuSeconds >= networkSeconds ? 'cores' : 'network' };
}

export interface RedisLoad {
  readonly changesPerSecond: number;
  readonly cores: number;
  /** To all nodes, each of which reads every change. */
  readonly outBytesPerSecond: number;
  readonly memoryBytes: number;
}

/** @param changesPerSecond of all channels @param logChanges maximum in the log */
export function redisLoad(
  costs: Costs,
  { channels, edges }: Pick<ClusterPlan, 'channels' | 'edges'>,
  changesPerSecond: number,
  logChanges: number,
): RedisLoad {
  return {
    changesPerSecond,
    // Measured with two readers; each further one costs a write of the same bytes.
    cores: changesPerSecond * costs.redisPushSeconds.value * (1 + Math.max(0, edges - 2) * 0.05),
    outBytesPerSecond: changesPerSecond * costs.logEntryBytes.value * edges,
    memoryBytes: channels * costs.lastValueBytes.value + logChanges * costs.logEntryBytes.value,
  };
}
