/** What all nodes have in common, in Redis or Valkey: its keys, and its commands. */

import { Redis, type RedisOptions } from './redis.js';
import { SCRIPTS } from './scripts.js';
import type { CommitAnswer, LogArgs, Pairs, Reply, SharedLog } from './shared-log.js';

/** Of the scripts, in their order. */
const KEYS = ['epoch', 'meta', 'version', 'last', 'done', 'log'] as const;
const LEASE_KEYS = ['owner', 'facts', 'node', 'meta', 'log'] as const;
/** After every id with the same first part. Entries of the cluster are `seq-0`; what another program adds as `seq-1` is not read again and again. */
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

  /** Rejects with RedisLost. @param prefix of all keys */
  static async open(options: RedisOptions, prefix: string): Promise<RedisLog> {
    return new RedisLog(await Redis.connect(options, SCRIPTS), prefix);
  }

  get isLost(): boolean {
    return this.#redis.isLost;
  }

  set onLost(onLost: (reason: Error) => void) {
    this.#redis.onLost = onLost;
  }

  close(): void {
    this.#redis.close();
  }

  async timeMs(): Promise<number> {
    const [seconds, micros] = (await this.#redis.ask(['TIME'])) as readonly [string, string];
    return Number(seconds) * 1000 + Number(micros) / 1000;
  }

  async epoch(): Promise<string | null> {
    return (await this.#redis.ask(['GET', this.#keyOf('epoch')])) as string | null;
  }

  async hello(args: LogArgs): Promise<readonly [string, number, number]> {
    return (await this.#redis.run('hello', this.#keys, args)) as [string, number, number];
  }

  async commit(args: LogArgs): Promise<CommitAnswer> {
    return (await this.#redis.run('commit', this.#keys, args)) as unknown as CommitAnswer;
  }

  lease(args: LogArgs): Promise<Reply> {
    const keys = LEASE_KEYS.map((key) => this.#keyOf(key));
    return this.#redis.run('lease', keys, args);
  }

  async last(channels: readonly string[] | null): Promise<Pairs> {
    const key = this.#keyOf('last');
    if (channels === null) return pairsOf(await this.#redis.ask(['HGETALL', key], true));
    const texts = (await this.#redis.ask(['HMGET', key, ...channels], true)) as readonly (string | null)[];
    return texts.flatMap((text, i) => (text === null ? [] : [[channels[i]!, text] as const]));
  }

  async entriesAfter(seq: number, most: number, waitMs: number): Promise<readonly Reply[]> {
    if (waitMs === 0) {
      const range = [this.#keyOf('log'), `(${seq}-${BEHIND_ALL}`, '+', 'COUNT', `${most}`];
      return (await this.#redis.ask(['XRANGE', ...range], true)) as readonly Reply[];
    }
    return await this.#redis.entriesAfter(this.#keyOf('log'), `${seq}-${BEHIND_ALL}`, most, waitMs);
  }

  async nodes(): Promise<Pairs> {
    return pairsOf(await this.#redis.ask(['HGETALL', this.#keyOf('node')]));
  }

  async forget(nodes: readonly string[]): Promise<void> {
    await this.#redis.ask(['HDEL', this.#keyOf('node'), ...nodes]);
  }

  #keyOf(name: (typeof KEYS)[number] | (typeof LEASE_KEYS)[number]): string {
    return `${this.#prefix}${name}`;
  }
}

function pairsOf(reply: Reply): Pairs {
  const flat = reply as readonly string[];
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!] as const);
}
