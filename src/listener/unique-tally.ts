/**
 * The unique listeners of a channel, shared between processes: by a digest of what makes connections one listener and, if that holds only for
 * a while, the time of the first connection. The same name in two processes is one listener.
 *
 *   worker 1   Q7… 12:00:01.200     worker 2   Q7… 12:00:01.350 ─► within togetherMs of the first ─► Q7… 12:00:01.200
 *
 * Not used in a single process. Owned by ListenerStats.
 */

import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.js';
import type { Tally } from '../base/tally.js';

/** A listener with all its connections in this process. */
export interface NamedListener {
  /** The channel, and a digest. */
  readonly key: string;
  readonly channel: string;
  /** Whether further connections can join it as long as it plays. */
  readonly isLasting: boolean;
  /** The time of its first connection. */
  sinceMs: number;
  connections: number;
  /** Its name in other processes; "": there are none. */
  name: string;
}

const DIGEST_CHARACTERS = 16;

export class UniqueTally {
  readonly #clock: Clock;
  readonly #tally: Tally;
  readonly #togetherMs: number;
  readonly #ownOf: (digest: string) => NamedListener | undefined;
  /** Digest → the latest first connection that another process has. */
  readonly #others = new Map<string, number>();

  /** @param ownOf the listener of this process that another connection can still join */
  constructor(clock: Clock, tally: Tally, togetherMs: number, ownOf: (digest: string) => NamedListener | undefined) {
    this.#clock = clock;
    this.#tally = tally;
    this.#togetherMs = togetherMs;
    this.#ownOf = ownOf;
    for (const [name, count] of tally.ofOthers) this.#onOthers(name, count);
    tally.onOthers((name, count) => this.#onOthers(name, count));
  }

  /** Listeners without a connection in this process. */
  get remoteCount(): number {
    return this.#tally.remoteCount;
  }

  /** A connection of this listener was added. */
  add(unique: NamedListener): void {
    if (unique.name === '') unique.name = this.#nameOf(unique);
    this.#tally.add(unique.name, 1);
  }

  remove({ name }: NamedListener): void {
    this.#tally.add(name, -1);
  }

  /** Another process has the same listener with another time: the earlier one counts. */
  #onOthers(name: string, count: number): void {
    const [digest = '', since] = name.split(' ');
    if (since === undefined) return;
    const firstMs = Number(since);
    if (count === 0) {
      if (this.#others.get(digest) === firstMs) this.#others.delete(digest);
      return;
    }
    this.#others.set(digest, Math.max(firstMs, this.#others.get(digest) ?? 0));
    const own = this.#ownOf(digest);
    if (own === undefined || own.name === name || !this.#join(own, firstMs)) return;
    this.#tally.add(own.name, -own.connections);
    own.name = name;
    this.#tally.add(name, own.connections);
  }

  /** Whether it belongs to a listener that began a little earlier, whose time it takes over. @param firstMs unix milliseconds */
  #join(unique: NamedListener, firstMs: number): boolean {
    const laterMs = this.#wallMs(unique.sinceMs) - firstMs;
    if (laterMs <= 0 || laterMs > this.#togetherMs) return false;
    unique.sinceMs -= laterMs;
    return true;
  }

  #nameOf(unique: NamedListener): string {
    const digest = unique.key.slice(unique.channel.length + 1);
    if (unique.isLasting) return digest;
    const firstMs = this.#others.get(digest);
    const isJoined = firstMs !== undefined && this.#join(unique, firstMs);
    return `${digest} ${isJoined ? firstMs : Math.round(this.#wallMs(unique.sinceMs))}`;
  }

  #wallMs(ownMs: number): number {
    return this.#clock.wallMs() - this.#clock.now() + ownMs;
  }
}

/** The digest of an identity, which processes share. */
export function digestOf(identity: string): string {
  return createHash('sha1').update(identity).digest('base64url').slice(0, DIGEST_CHARACTERS);
}
