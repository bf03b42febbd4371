/** A node's engine in this process, on a real Redis, with its own store and order of records. */

import type { Test } from 'tap';
import { ClusterTime } from '../../src/cluster/cluster-time.js';
import type { RedisOptions } from '../../src/cluster/log/redis.js';
import { RedisLog } from '../../src/cluster/log/redis-log.js';
import type { OpenSharedLog } from '../../src/cluster/log/shared-log.js';
import { ClusterEngine, type ClusterOptions } from '../../src/cluster/titles/cluster-engine.js';
import { Sequence } from '../../src/feed/sequence.js';
import { takeNow } from '../../src/now-playing/effect.js';
import { makeTrack } from '../../src/now-playing/repeat.js';
import type { Change, ChannelState } from '../../src/now-playing/state.js';
import type { Bench } from '../titles/engine-contract.js';
import { SlowStore } from './slow-store.js';
import { until } from './until.js';

export interface TestNode {
  readonly name: string;
  readonly engine: ClusterEngine;
  readonly store: SlowStore;
  readonly sequence: Sequence;
  readonly delivered: { readonly channel: string; readonly change: Change }[];
  /** Why Redis cannot be reached; null: it can. */
  reason: Error | null;
  readonly errors: unknown[];
  /** Skipped records, with their places. */
  readonly bad: string[];
  dropped: number;
  /** Error of this node's clock. */
  aheadMs: number;
  onDeliver: (channel: string, change: Change) => void;
  /** The titles that readers of the channel got, in order. */
  songs(channel: string): string[];
  push(channel: string, song: string, id?: string): Promise<Change | null>;
}

export interface NodeOptions extends Partial<Omit<ClusterOptions, 'node'>>, Partial<RedisOptions> {
  readonly prefix?: string;
  readonly store?: SlowStore;
  readonly aheadMs?: number;
  /** Whether a channel is configured; absent: each is. */
  readonly has?: (channel: string) => boolean;
}

/** Resolves when it has joined, or has found that it cannot. @param where the shared log: the URL of Redis, or a connection to it */
export async function startNode(
  t: Test,
  where: string | OpenSharedLog,
  name: string,
  options: NodeOptions = {},
): Promise<TestNode> {
  const { sentinels = [], master = '', answerMs = 500, ca, prefix = 'test:' } = options;
  const redis = { sentinels, master, answerMs, ca };
  const store = options.store ?? new SlowStore();
  const sequence = new Sequence();
  const delivered: TestNode['delivered'] = [];
  const clock = new OffClock(() => node.aheadMs);
  const wallMs = () => clock.wallMs();
  const engine = new ClusterEngine({
    store,
    sequence,
    makeTime: (skewMs: number) => new ClusterTime(clock, skewMs),
    options: {
      node: name,
      logEntries: options.logEntries ?? 1000,
      waitingChanges: options.waitingChanges ?? 100,
    },
    open: typeof where === 'string' ? (onLost) => RedisLog.open({ ...redis, url: where }, prefix, onLost) : where,
    has: options.has ?? (() => true),
    deliver: (channel, change) => {
      delivered.push({ channel, change });
      node.onDeliver(channel, change);
    },
    onReached: (reason) => {
      node.reason = reason;
    },
    onDropped: () => node.dropped++,
    onBad: (place, reason) => node.bad.push(`${place}: ${reason}`),
    onError: (error) => node.errors.push(error),
  });
  const node: TestNode = {
    name,
    engine,
    store,
    sequence,
    delivered,
    reason: null,
    errors: [],
    bad: [],
    dropped: 0,
    aheadMs: options.aheadMs ?? 0,
    onDeliver: () => undefined,
    songs: (channel) =>
      delivered.flatMap((one) =>
        one.channel === channel && one.change.record !== null ? [one.change.record.song] : [],
      ),
    push: (channel, song, id = song) => engine.update(channel, play(channel, song, id, wallMs())),
  };
  await engine.join(['x', 'y']);
  engine.begin();
  t.teardown(() => engine.close());
  return node;
}

/** The clock of a machine whose wall clock is wrong. */
class OffClock {
  readonly #offMs: () => number;
  #aheadMs: number | null = null;

  constructor(offMs: () => number) {
    this.#offMs = offMs;
  }

  now(): number {
    return performance.now();
  }

  wallMs(): number {
    return this.#aheadMs === null ? this.#ownMs : Math.round(this.now() + this.#aheadMs);
  }

  follow(aheadMs: number): void {
    this.#aheadMs = aheadMs;
  }

  get skewMs(): number {
    return this.#ownMs - this.wallMs();
  }

  get #ownMs(): number {
    return Date.now() + this.#offMs();
  }
}

/** A push of this title, decided at this time. */
export function play(channel: string, song: string, id: string, wallMs: number) {
  const at = { channel, wallMs, newId: () => id, ageMs: () => 0 };
  return (state: ChannelState) =>
    state.now?.id === id
      ? null
      : takeNow(state, makeTrack({ type: 'now', artist: '', song }, id, Math.floor(wallMs / 1000)), at);
}

/** Resolves when this is true for all. */
export async function allUntil(
  nodes: readonly TestNode[],
  is: (node: TestNode) => boolean,
  what: string,
): Promise<void> {
  await until(
    () => nodes.every(is),
    10_000,
    () =>
      `${what}: ${nodes.map((node) => `${node.name} ${is(node)} ${node.reason?.message ?? 'reached'} ${node.engine.waiting} ${String(node.errors.at(-1) ?? '')}`)}`,
  );
}

/** Its engine, for the tests of the contract (test/titles/engine-contract.ts). @param fail called in addition to its store's */
export function benchOf(node: TestNode, fail: (isFailing: boolean) => void | Promise<void>): Bench {
  const bench: Bench = {
    engine: node.engine,
    delivered: node.delivered,
    committed: (channel) => node.store.load(channel)?.version ?? 0,
    pause: () => node.store.pause(),
    fail: async (isFailing) => {
      node.store.failing = isFailing;
      await fail(isFailing);
    },
    onDeliver: () => undefined,
  };
  node.onDeliver = (channel, change) => bench.onDeliver(channel, change);
  return bench;
}
