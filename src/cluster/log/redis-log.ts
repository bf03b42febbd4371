/** The shared log in Redis or Valkey: its keys and commands. */

import { MAX_NAME } from '../titles/ordered-schema.js';
import type {
  Commit,
  CommitAnswer,
  JoinAnswer,
  Joining,
  Lease,
  LeaseAnswer,
  LeaseQuestion,
  RawEntry,
} from './log-schema.js';
import { Redis, type RedisOptions, type Reply } from './redis.js';
import { SCRIPTS } from './scripts.js';
import type { OnLogLost, Pairs, SharedLog } from './shared-log.js';

/** The keys of the scripts, in order. */
const KEYS = ['epoch', 'meta', 'version', 'last', 'done', 'log'] as const;
const LEASE_KEYS = ['owner', 'facts', 'node', 'meta', 'log'] as const;
/** Number of values per lease in the script's answer. */
const LEASE_FIELDS = 7;
/** Orders after every id with the same first part. The cluster writes `seq-0`; a `seq-1` of another program is thus read only once. */
const BEHIND_ALL = '18446744073709551615';

export class RedisLog implements SharedLog {
  readonly #redis: Redis;
  readonly #prefix: string;
  readonly #keys: readonly string[];

  private constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#keys = KEYS.map((key) => `${prefix}${key}`);
  }

  /** Rejects with RedisLost. @param prefix of all keys @param onLost see OpenSharedLog */
  static async open(options: RedisOptions, prefix: string, onLost?: OnLogLost): Promise<RedisLog> {
    return new RedisLog(await Redis.connect(options, SCRIPTS, onLost), prefix);
  }

  get isLost(): boolean {
    return this.#redis.isLost;
  }

  close(reason?: string): void {
    this.#redis.close(reason);
  }

  async timeMs(): Promise<number> {
    const [seconds, micros] = (await this.#redis.ask(['TIME'])) as readonly [string, string];
    return Number(seconds) * 1000 + Number(micros) / 1000;
  }

  async epoch(): Promise<string | null> {
    // What another program wrote may be long.
    const epoch = (await this.#redis.ask(['GETRANGE', this.#keyOf('epoch'), '0', `${MAX_NAME}`])) as string;
    return epoch === '' ? null : epoch;
  }

  async hello({ freshEpoch, epoch: known, seq: lastSeq, id, lastStamp }: Joining): Promise<JoinAnswer> {
    const reply = await this.#redis.run('hello', this.#keys, [freshEpoch, known, lastSeq, id, lastStamp]);
    const [epoch, seq, goesOn] = listOf(reply) as readonly [string, number, number];
    return { epoch, seq, goesOn: goesOn === 1 };
  }

  async commit(change: Commit): Promise<CommitAnswer> {
    const { epoch, channel, before, version, hasRecord, lastStamp, ordered, history, id, node, logEntries } = change;
    const args = [
      epoch,
      channel,
      before,
      version,
      hasRecord ? 1 : 0,
      lastStamp,
      ordered,
      history,
      id,
      node,
      logEntries,
    ];
    const reply = await this.#redis.run('commit', this.#keys, args);
    const [verdict, number] = listOf(reply) as readonly [CommitAnswer['verdict'], number];
    return { verdict, number };
  }

  async lease({ node, url, run, lastsMs, staleMs, leases }: LeaseQuestion): Promise<LeaseAnswer> {
    const asked = leases.flatMap(({ channel, wish, rank, facts, known }) => [channel, wish, rank, facts, known ?? '']);
    const keys = LEASE_KEYS.map((key) => this.#keyOf(key));
    const flat = listOf(await this.#redis.run('lease', keys, [node, url, run, lastsMs, staleMs, ...asked])) as string[];
    return {
      leases: leases.map((_, i) => leaseOf(flat.slice(i * LEASE_FIELDS, (i + 1) * LEASE_FIELDS))),
      isNameTaken: flat[leases.length * LEASE_FIELDS] === '1',
    };
  }

  async last(channels: readonly string[]): Promise<Pairs> {
    return pairsOf(await this.#redis.run('last', [this.#keyOf('last')], channels, true));
  }

  async entriesAfter(seq: number, most: number, waitMs: number): Promise<readonly RawEntry[]> {
    const [key, behind] = [this.#keyOf('log'), `${seq}-${BEHIND_ALL}`];
    // One by itself may have been too long for an answer.
    if (waitMs === 0 || most === 1) {
      const there = entriesOf(await this.#redis.run('entries', [key], [behind, most], true));
      if (waitMs === 0 || there.length > 0) return there;
    }
    return entriesOf(await this.#redis.entriesAfter(key, behind, most, waitMs));
  }

  async nodes(): Promise<Pairs> {
    return pairsOf(await this.#redis.run('nodes', [this.#keyOf('node')], []));
  }

  async forget(nodes: readonly string[]): Promise<void> {
    await this.#redis.ask(['HDEL', this.#keyOf('node'), ...nodes]);
  }

  #keyOf(name: (typeof KEYS)[number] | (typeof LEASE_KEYS)[number]): string {
    return `${this.#prefix}${name}`;
  }
}

/** Not checked here: checked-log.ts refuses answers with missing values. */
function listOf(reply: Reply): readonly Reply[] {
  return Array.isArray(reply) ? reply : [];
}

function entriesOf(reply: Reply): readonly RawEntry[] {
  return listOf(reply).map((entry) => {
    const [id, fields] = listOf(entry) as readonly [string, Reply];
    return { id, fields: Object.fromEntries(pairsOf(fields ?? null)) };
  });
}

function pairsOf(reply: Reply): Pairs {
  const flat = listOf(reply) as readonly string[];
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!] as const);
}

function leaseOf(fields: readonly string[]): Lease {
  const [node, url, epoch, beforeNode, beforeUrl, version, facts] = fields as [string, string, ...string[]];
  return { node, url, epoch: Number(epoch), beforeNode, beforeUrl, version: Number(version), facts } as Lease;
}
