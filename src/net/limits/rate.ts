/**
 * How often something may happen, by a key: a bucket of tokens each, filled steadily. Only buckets that are not full are remembered,
 * at most `remembered` of them, without a timer: each use looks at the oldest and drops what has filled up again.
 *
 *   buckets, oldest use first:  a(3, 12:00:01) · b(59.5, 12:00:40) · c(0, 12:00:41)      full after at most burst / rate
 *
 * When there are too many keys the longest unused is forgotten, that is, forgiven: memory counts for more than one stranger's due.
 *
 * Several processes have one rate: what is taken in one is reported to the others, and taken there too. A bucket may owe tokens then, as all may take
 * before they hear of each other: over a minute they have no more than one would have.
 */

import type { Clock } from '../../base/clock.js';
import { live } from '../../base/live.js';
import { Notices } from '../../base/tally.js';

export interface RateLimits {
  readonly perMinute: number;
  /** How many at once. */
  readonly burst: number;
  /** How many keys are remembered at most. */
  readonly remembered: number;
}

/** What a bucket may owe, in bursts: one of each process that took before it knew of the others. A process that lies makes no key wait for longer. */
const MAX_OWED_BURSTS = 16;

interface Bucket {
  tokens: number;
  atMs: number;
}

export class Rate {
  readonly #clock: Clock;
  readonly #limits: RateLimits;
  readonly #buckets = new Map<string, Bucket>();
  readonly #notices: Notices;

  /** @param notices of what is taken, from and to the other processes */
  constructor(clock: Clock, limits: RateLimits, notices = new Notices()) {
    this.#clock = clock;
    this.#limits = limits;
    this.#notices = notices;
    notices.onNotice = (key, amount) => this.#change(key, -amount);
  }

  get #perMs(): number {
    return this.#limits.perMinute / 60_000;
  }

  /** The number of keys remembered now. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Takes a token of this key's. 0: it may; else in how many whole seconds it may again (nothing was taken). */
  take(key: string): number {
    const waitSeconds = this.waitSeconds(key);
    if (waitSeconds === 0) this.takeWhatIsThere(key);
    return waitSeconds;
  }

  /** The same answer, and nothing is taken. */
  waitSeconds(key: string): number {
    return Math.ceil(this.waitMs(key) / 1000);
  }

  /** Takes a token, or as much of one as there is, for something that has happened whether it might or not. */
  takeWhatIsThere(key: string): void {
    const amount = Math.min(1, Math.max(0, this.#tokens(key)));
    this.#change(key, -amount);
    this.#notices.add(key, amount);
  }

  /** In how many milliseconds this key may, if no token is taken before; 0: now. */
  waitMs(key: string): number {
    return Math.max(0, 1 - this.#tokens(key)) / this.#perMs;
  }

  /** Gives a token back that was taken for something that did not happen after all. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return;
    bucket.tokens++;
    this.#notices.add(key, -1);
  }

  #tokens(key: string): number {
    const { burst } = this.#limits;
    const bucket = this.#buckets.get(key);
    return bucket === undefined
      ? burst
      : Math.min(burst, bucket.tokens + (this.#clock.now() - bucket.atMs) * this.#perMs);
  }

  #change(key: string, change: number): void {
    const least = -MAX_OWED_BURSTS * this.#limits.burst;
    this.#keep(key, { tokens: Math.max(least, this.#tokens(key) + change), atMs: this.#clock.now() });
  }

  #keep(key: string, bucket: Bucket): void {
    // Deleted first: the map stays in the order of last use.
    this.#buckets.delete(key);
    for (const [oldest, { tokens, atMs }] of this.#buckets) {
      const full = (bucket.atMs - atMs) * this.#perMs >= this.#limits.burst - Math.min(0, tokens);
      if (!full && this.#buckets.size < this.#limits.remembered) break;
      this.#buckets.delete(oldest);
    }
    this.#buckets.set(key, bucket);
  }
}

/** As many at once as in a minute. */
export function evenRate(perMinute: () => number, remembered: number): RateLimits {
  return live<RateLimits>({ perMinute, burst: perMinute, remembered: () => remembered });
}
