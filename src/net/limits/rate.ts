/**
 * A rate limit by key: a token bucket each. Only buckets that are not full are remembered, at most `remembered` of them, without a
 * timer: each use drops the oldest that have filled up again.
 *
 *   buckets, oldest use first:  a(3, 12:00:01) · b(59.5, 12:00:40) · c(0, 12:00:41)      full after at most burst / rate
 *
 * With too many keys the least recently used is forgotten, and so forgiven.
 *
 * Processes share a rate: tokens taken in one are reported to the others and taken there too. A bucket may owe tokens, as several processes may
 * take one before they hear of each other: over a minute they allow no more than one would.
 */

import type { Clock } from '../../base/clock.js';
import { withGetters } from '../../base/getters.js';
import { Notices } from '../../base/tally.js';

export interface RateLimits {
  readonly perMinute: number;
  /** The size of a bucket. */
  readonly burst: number;
  /** Maximum number of keys. */
  readonly remembered: number;
}

/** The most that a bucket may owe: a burst of each process. Also the longest that a faulty process can make a key wait. */
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

  /** @param notices of tokens taken, from and to the other processes */
  constructor(clock: Clock, limits: RateLimits, notices = new Notices()) {
    this.#clock = clock;
    this.#limits = limits;
    this.#notices = notices;
    notices.onNotice((key, amount) => this.#change(key, -amount));
  }

  get #perMs(): number {
    return this.#limits.perMinute / 60_000;
  }

  /** The number of keys remembered now. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Takes a token of this key and returns 0, or takes none and returns the seconds to wait, rounded up. */
  take(key: string): number {
    const waitSeconds = this.waitSeconds(key);
    if (waitSeconds === 0) this.takeAvailable(key);
    return waitSeconds;
  }

  /** Seconds to wait for a token, rounded up. Takes none. */
  waitSeconds(key: string): number {
    return Math.ceil(this.waitMs(key) / 1000);
  }

  /** Takes a token, or what is left of one, for something that has happened already. */
  takeAvailable(key: string): void {
    const amount = Math.min(1, Math.max(0, this.#tokens(key)));
    this.#change(key, -amount);
    this.#notices.add(key, amount);
  }

  /** Milliseconds to wait for a token; 0: none. */
  waitMs(key: string): number {
    return Math.max(0, 1 - this.#tokens(key)) / this.#perMs;
  }

  /** Gives a token back for something that did not happen after all. */
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

/** A rate whose burst is a minute's worth. */
export function evenRate(perMinute: () => number, remembered: number): RateLimits {
  return withGetters<RateLimits>({ perMinute, burst: perMinute, remembered: () => remembered });
}
