/**
 * The only place where clients' secrets are compared. Within its limit of wrong secrets an address is answered at once. Beyond it all
 * its secrets wait for their turn, one a second, right or wrong alike: a guesser is slow and learns nothing from the timing, a
 * neighbour behind the same address is late, but not locked out (src/net/README.md, "Secrets").
 *
 *   check ─► within the limit? ─► compare ─► right | wrong                     wrong: counted for the address, and in all
 *               └─ no ─► queue of the address: a b c ─ one a second ─► compare ─► …          no slot in it: too-many
 *
 * A guesser with many addresses (an IPv6 customer has 65,536 networks) would have a limit for each, and could make us forget the
 * oldest. So wrong secrets are also counted in all: beyond that limit the addresses that have never sent a right secret share one queue,
 * where they take turns. Invariant: addresses that never sent a right secret have at most twice `inAllPerMinute` compared in a
 * minute, besides those already waiting in queues of their own when that limit was reached.
 *
 * Processes share the limits and the origins with right secrets. If n of them have a queue of the same name, each gives it every nth turn.
 */

import type { Clock } from '../../base/clock.js';
import { Tallies } from '../../base/tallies.js';
import type { Notices, Tally } from '../../base/tally.js';
import { evenRate, Rate } from './rate.js';
import {
  type CompareSecret,
  type OnVerdict,
  SecretQueue,
  type SecretVerdict,
  type WaitingSecret,
} from './secret-queue.js';

export interface SecretLimits {
  /** Wrong secrets of an address (base/ip.ts: originOf), at once and in a minute. */
  readonly perMinute: number;
  /** Wrong secrets of all addresses, likewise. */
  readonly inAllPerMinute: number;
  /** How many secrets of an address wait, for one turn a second each. Beyond it slots are drawn. */
  readonly maxOfOrigin: number;
  /** Addresses with wrong secrets, and with right ones, that are remembered; also how many secrets may wait in all. */
  readonly remembered: number;
}

/** Logged for a request without a secret: the first request of many clients (libshout) is one. */
export const NO_SECRET = 'no credentials';
/** Logged for a refused secret. */
export const SECRET_REASONS: Readonly<Record<Exclude<SecretVerdict, 'right'>, string>> = {
  wrong: 'wrong secret',
  'too-many': 'too many wrong secrets',
  unknown: 'the secret cannot be checked at the moment',
};

const EVERY_MS = 1000;
/** The queue of all origins that were never right; not an address. */
const ALL = '*';

export class SecretGate {
  readonly #clock: Clock;
  readonly #limits: SecretLimits;
  readonly #wrong: Rate;
  readonly #wrongInAll: Rate;
  /** Origins that have sent a right secret, the latest last. Only another right secret displaces one. */
  readonly #proven = new Set<string>();
  /** A queue is kept for one turn after its last secret, so that the next one has to wait as well. */
  readonly #queues = new Map<string, SecretQueue>();
  /** How many processes have a queue, by its name. */
  readonly #queuesInAll: Tally;
  readonly #all: Tally;
  readonly #right: Notices;
  readonly #random: () => number;
  #waiting = 0;

  /** @param random in [0, 1): draws slots @param tallies with other processes */
  constructor(clock: Clock, limits: SecretLimits, random: () => number = Math.random, tallies = new Tallies()) {
    this.#clock = clock;
    this.#limits = limits;
    this.#random = random;
    const { remembered } = limits;
    const wrong = evenRate(() => limits.perMinute, remembered);
    const wrongInAll = evenRate(() => limits.inAllPerMinute, 1);
    this.#wrong = new Rate(clock, wrong, tallies.notices('wrong secrets'));
    this.#wrongInAll = new Rate(clock, wrongInAll, tallies.notices('wrong secrets in all'));
    this.#queuesInAll = tallies.tally('secret queues');
    this.#all = tallies.all;
    this.#right = tallies.notices('right secrets');
    this.#right.onNotice((origin) => this.#prove(origin));
    tallies.onLook(() => this.#all.set('secrets', this.#waiting));
  }

  /** Secrets that wait for their verdict. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Compares a secret and calls `onVerdict`: at once (null is returned), or at its turn.
   * After `unknown` the caller reports the outcome by `settle`. Until then it counts as wrong, so that many at once do not evade the limit.
   */
  check(origin: string, compare: CompareSecret, onVerdict: OnVerdict): WaitingSecret | null {
    const queue = this.#queueOf(origin);
    if (queue === null) {
      onVerdict(this.#compare(origin, compare), 0);
      return null;
    }
    if (queue.max === 0 || this.#waiting + this.#all.others('secrets') >= this.#limits.remembered) {
      onVerdict('too-many', queue.retrySeconds);
      return null;
    }
    return queue.add(origin, compare, onVerdict);
  }

  /** The outcome of a secret for which `compare` returned null. @param isRight null: it could not be found out */
  settle(origin: string, isRight: boolean | null): void {
    if (isRight === false) return;
    this.#wrong.giveBack(origin);
    this.#wrongInAll.giveBack(ALL);
    if (isRight) this.#accept(origin);
  }

  /** Refuses all waiting secrets, before the server stops. */
  close(): void {
    for (const queue of this.#queues.values()) queue.close();
  }

  /** The queue in which this origin has to wait; null: none. */
  #queueOf(origin: string): SecretQueue | null {
    const { maxOfOrigin, inAllPerMinute } = this.#limits;
    if (!this.#proven.has(origin)) {
      const everyMs = 60_000 / inAllPerMinute;
      const all = this.#queues.get(ALL);
      if (all !== undefined) return all;
      if (this.#wrongInAll.waitSeconds(ALL) > 0)
        return this.#open(ALL, everyMs, Math.ceil((maxOfOrigin * EVERY_MS) / everyMs));
    }
    const own = this.#queues.get(origin);
    if (own !== undefined) return own;
    return this.#wrong.waitSeconds(origin) > 0 ? this.#open(origin, EVERY_MS, maxOfOrigin) : null;
  }

  #open(name: string, everyMs: number, max: number): SecretQueue {
    const { maxOfOrigin } = this.#limits;
    const onCount = (change: number) => (this.#waiting += change);
    const queue = new SecretQueue({ everyMs, max, maxOfOrigin, random: this.#random, onCount });
    this.#queues.set(name, queue);
    this.#queuesInAll.add(name, 1);
    this.#turnAfter(name, queue);
    return queue;
  }

  #turnAfter(name: string, queue: SecretQueue): void {
    const everyMs = queue.everyMs * this.#queuesInAll.count(name);
    this.#clock.alarm(this.#clock.now() + everyMs, { onAlarm: () => this.#turn(name, queue) });
  }

  #turn(name: string, queue: SecretQueue): void {
    const next = queue.turn();
    if (next === null) {
      this.#queues.delete(name);
      this.#queuesInAll.add(name, -1);
      return;
    }
    this.#turnAfter(name, queue);
    next.onVerdict(this.#compare(next.origin, next.compare), 0);
  }

  #compare(origin: string, compare: CompareSecret): SecretVerdict {
    const isRight = compare();
    if (isRight) {
      this.#accept(origin);
      return 'right';
    }
    this.#wrong.takeAvailable(origin);
    this.#wrongInAll.takeAvailable(ALL);
    return isRight === null ? 'unknown' : 'wrong';
  }

  #accept(origin: string): void {
    this.#prove(origin);
    this.#right.add(origin, 1);
  }

  #prove(origin: string): void {
    this.#proven.delete(origin);
    this.#proven.add(origin);
    if (this.#proven.size <= this.#limits.remembered) return;
    const [oldest] = this.#proven;
    this.#proven.delete(oldest!);
  }
}
