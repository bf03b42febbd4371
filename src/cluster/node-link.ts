/**
 * A node's connection to the cluster: it joins, reads the log from where it has come to, and joins again whenever the connection is lost. What is read
 * goes to the engine, in order; a gap in the log (it is bounded) is found by the numbers, and the last values are read then.
 */

import { randomUUID } from 'node:crypto';
import type { LogBell, LogEntry } from './log-entry.js';
import { readEntry, readLast } from './log-entry.js';
import type { Ordered } from './ordered.js';
import { Redis, type RedisOptions, type Reply } from './redis.js';
import { COMMIT, HELLO, KEYS, LEASE, LEASE_KEYS } from './scripts.js';

/** How far a node has come in the log. */
export interface LogPlace {
  /** '': it was never in a cluster. */
  readonly epoch: string;
  readonly seq: number;
  /** Of the change there. */
  readonly id: string;
}

export interface Joined {
  readonly redis: Redis;
  readonly epoch: string;
  /** The data lives another life than the one that this node knows: what it has may be missing there. */
  readonly isOther: boolean;
  /** By channel, all of them; null: the log goes on from the node's place. */
  readonly last: ReadonlyMap<string, Ordered> | null;
}

export interface NodeLinkParts {
  readonly options: RedisOptions;
  /** Of all keys. */
  readonly prefix: string;
  place(): LogPlace;
  lastStamp(): number;
  wallMs(): number;
  onJoined(joined: Joined): void;
  /** With consecutive numbers. */
  onEntry(entry: LogEntry | LogBell): void;
  onLost(reason: Error): void;
  /** How far the clock of Redis is before this one's, milliseconds. */
  onClock(aheadMs: number): void;
}

/** What one read takes at most, and how long it waits: by then it is known to be alive. */
const READ_ENTRIES = 500;
const READ_WAIT_MS = 1000;
/** A node that has not been here for longer is forgotten: names may come and go. */
const FORGOTTEN_MS = 86_400_000;
/** How often the clock is asked. */
const CLOCK_ASKS = 3;
/** Between two attempts. */
const RETRY_MS = 200;

export type CommitAnswer = readonly ['ok' | 'stale' | 'done' | 'epoch', number];

export class NodeLink {
  readonly #parts: NodeLinkParts;
  readonly #keys: readonly string[];
  #redis: Redis | null = null;
  #epoch = '';
  #seq = 0;
  /** What is between the place and the log is not known. */
  #misses = false;
  #readMs = performance.now();
  #isClosed = false;
  #running: Promise<void> | null = null;
  #retry: (() => void) | null = null;

  constructor(parts: NodeLinkParts) {
    this.#parts = parts;
    this.#keys = KEYS.map((key) => `${parts.prefix}${key}`);
  }

  /** Since when what was read of the log is not known to be all of it, monotonic milliseconds. */
  get readMs(): number {
    return this.#readMs;
  }

  /** Begins to join. Resolves after the first attempt, however it has ended. */
  async start(): Promise<void> {
    const first = this.#join();
    this.#running = first.then(() => this.#run());
    await first;
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#redis?.close();
    this.#retry?.();
    await this.#running;
  }

  /** The number of the last entry that was read. */
  get seq(): number {
    return this.#seq;
  }

  /** What all agree on, of these channels; those of which there is nothing are left out. Rejects as Redis does. */
  async last(redis: Redis, channels: readonly string[]): Promise<ReadonlyMap<string, Ordered>> {
    const texts = (await redis.ask(['HMGET', this.#keyOf('last'), ...channels], true)) as readonly (string | null)[];
    return new Map(texts.flatMap((text, i) => (text === null ? [] : [[channels[i]!, readLast(text)] as const])));
  }

  /** Joins again, and reads all last values: it misses something. */
  rejoin(): void {
    this.#misses = true;
    this.#redis?.close();
  }

  /** Rejects with RedisLost, or with what Redis says against it. @param args as COMMIT has them behind the epoch */
  async commit(redis: Redis, args: readonly (string | number)[]): Promise<CommitAnswer> {
    const answer = (await redis.run('commit', this.#keys, [this.#epoch, ...args])) as unknown as CommitAnswer;
    if (answer[0] === 'epoch') redis.close();
    return answer;
  }

  /** @param args as LEASE has them */
  lease(redis: Redis, args: readonly (string | number)[]): Promise<Reply> {
    const keys = LEASE_KEYS.map((key) => `${this.#parts.prefix}${key}`);
    return redis.run('lease', keys, args);
  }

  /** Every node that has asked for leases → when it did last, unix milliseconds by the clock of Redis, and where it gives its tapes. */
  async nodes(redis: Redis): Promise<ReadonlyMap<string, { readonly seenMs: number; readonly url: string }>> {
    const key = `${this.#parts.prefix}node`;
    const flat = (await redis.ask(['HGETALL', key])) as readonly string[];
    const nodes = new Map<string, { readonly seenMs: number; readonly url: string }>();
    for (let i = 0; i < flat.length; i += 2) {
      const [seenMs, url = ''] = flat[i + 1]!.split(' ');
      nodes.set(flat[i]!, { seenMs: Number(seenMs), url });
    }
    const lastMs = Math.max(0, ...[...nodes.values()].map(({ seenMs }) => seenMs));
    const gone = [...nodes].flatMap(([node, { seenMs }]) => (lastMs - seenMs > FORGOTTEN_MS ? [node] : []));
    for (const node of gone) nodes.delete(node);
    if (gone.length > 0) await redis.ask(['HDEL', key, ...gone]);
    return nodes;
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      const redis = this.#redis;
      if (redis !== null) await this.#read(redis);
      this.#redis = null;
      if (this.#isClosed) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, RETRY_MS);
        this.#retry = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      if (!this.#isClosed) await this.#join();
    }
  }

  async #join(): Promise<void> {
    const { options, place, lastStamp, wallMs, onJoined, onLost, onClock } = this.#parts;
    let redis: Redis | null = null;
    try {
      redis = await Redis.connect(options, { hello: HELLO, commit: COMMIT, lease: LEASE });
      const { epoch: mine, seq: mySeq, id } = place();
      const claimed = this.#misses ? [mine, 0, ''] : [mine, mySeq, id];
      const args = [randomUUID(), ...claimed, lastStamp()];
      onClock(await aheadMs(redis, wallMs));
      const [epoch, seq, goesOn] = (await redis.run('hello', this.#keys, args)) as [string, number, number];
      const last = goesOn === 1 ? null : readAll(await redis.ask(['HGETALL', this.#keyOf('last')], true));
      if (this.#isClosed) throw new Error('it is closed');
      this.#epoch = epoch;
      this.#seq = goesOn === 1 ? mySeq : seq;
      this.#misses = false;
      this.#redis = redis;
      redis.onLost = onLost;
      if (redis.isLost) throw new Error('the connection was lost');
      onJoined({ redis, epoch, isOther: epoch !== mine, last });
    } catch (error) {
      this.#redis = null;
      redis?.close();
      if (!this.#isClosed) onLost(error as Error);
    }
  }

  /** Until the connection is lost. */
  async #read(redis: Redis): Promise<void> {
    try {
      let checkedMs = performance.now();
      while (!redis.isLost) {
        // An emptied log would be waited for until it is as long again.
        if (performance.now() - checkedMs >= READ_WAIT_MS) {
          if ((await redis.ask(['GET', this.#keyOf('epoch')])) !== this.#epoch) return redis.close();
          checkedMs = performance.now();
        }
        const id = `${this.#seq}-0`;
        const replies = await redis.entriesAfter(this.#keyOf('log'), id, READ_ENTRIES, READ_WAIT_MS);
        if (replies.length < READ_ENTRIES) this.#readMs = performance.now();
        for (const reply of replies) {
          const entry = readEntry(reply);
          // What is missing was trimmed before it was read.
          if (entry.seq !== this.#seq + 1) return this.rejoin();
          this.#seq = entry.seq;
          this.#parts.onEntry(entry);
        }
      }
    } catch {
      // The connection has said why; what cannot be read is of no use.
      redis.close();
    }
  }

  #keyOf(name: (typeof KEYS)[number]): string {
    return this.#keys[KEYS.indexOf(name)]!;
  }
}

/** How far the clock of Redis is before this one's, milliseconds: of a few answers the one that came soonest says it best. Rejects as Redis does. */
async function aheadMs(redis: Redis, wallMs: () => number): Promise<number> {
  let [best, soonest] = [0, Number.POSITIVE_INFINITY];
  for (let i = 0; i < CLOCK_ASKS; i++) {
    const beganMs = wallMs();
    const [seconds, micros] = (await redis.ask(['TIME'])) as readonly [string, string];
    const tookMs = wallMs() - beganMs;
    if (tookMs >= soonest) continue;
    soonest = tookMs;
    best = Number(seconds) * 1000 + Number(micros) / 1000 - beganMs - tookMs / 2;
  }
  return best;
}

function readAll(reply: Reply): ReadonlyMap<string, Ordered> {
  const flat = reply as readonly string[];
  const last = new Map<string, Ordered>();
  for (let i = 0; i < flat.length; i += 2) last.set(flat[i]!, readLast(flat[i + 1]!));
  return last;
}
