/**
 * The one place where a client's secret is compared: every part that takes tokens or passwords asks here. Within its limit of wrong ones an
 * address is answered at once. Past it whatever comes from there waits for its turn, one a second, right or wrong alike, so that a guesser is
 * slow and learns nothing from the time; a neighbour behind the same address is late, and not locked out (src/net/README.md, "Secrets").
 *
 *   check ─► within the limit? ─► compare ─► right | wrong                     wrong: counted for the address, and in all
 *               └─ no ─► queue of the address: a b c ─ one a second ─► compare ─► …          not drawn for a place: too-many
 *
 * A guesser with many addresses (a customer of IPv6 has 65,536 networks) would have a limit for each, and could make us forget the
 * oldest. So wrong ones are counted in all too: past that limit the addresses that have never sent a right secret share one queue,
 * where each has its turn after the others. Invariant: in a minute addresses that never sent a right one have at most twice
 * `inAllPerMinute` secrets looked at, and those that waited in queues of their own when that limit was reached.
 *
 * The limits are of all processes of a server. Where several have a queue of one address, or of all, its turns come as much later in each; who was
 * right in one is known to all.
 */

import type { Clock } from '../../base/clock.js';
import { Tallies } from '../../base/tallies.js';
import type { Notices, Tally } from '../../base/tally.js';
import { evenRate, Rate } from './rate.js';
import { type OnVerdict, SecretQueue, type SecretVerdict, type WaitingSecret } from './secret-queue.js';

export interface SecretLimits {
  /** Wrong ones of an address (base/ip.ts: originOf), at once and in a minute. */
  readonly perMinute: number;
  /** Wrong ones of all addresses, likewise. */
  readonly inAllPerMinute: number;
  /** How many wait for their turn, of an address; one a second. Past it a place is drawn. */
  readonly mostOfOrigin: number;
  /** Addresses that are remembered: those of wrong secrets, and those of right ones; also how many may wait in all. */
  readonly remembered: number;
}

/** What the log says of a request without a secret; many ask so first, to see what they may do (libshout). */
export const NO_SECRET = 'no credentials';
/** What the log says of a secret that was refused, wherever it was sent. */
export const SECRET_REASONS: Readonly<Record<Exclude<SecretVerdict, 'right'>, string>> = {
  wrong: 'wrong secret',
  'too-many': 'too many wrong secrets',
};

const EVERY_MS = 1000;
/** No address: the queue of all that were never right. */
const ALL = '*';

export class SecretGate {
  readonly #clock: Clock;
  readonly #limits: SecretLimits;
  readonly #wrong: Rate;
  readonly #wrongInAll: Rate;
  /** Origins that have sent a right secret, the last one at the end. Only a right secret makes us forget one. */
  readonly #proven = new Set<string>();
  /** A queue stays for one turn after its last: a secret that comes at once after it has to wait as well. */
  readonly #queues = new Map<string, SecretQueue>();
  /** In how many processes there is one of a name. */
  readonly #queuesInAll: Tally;
  readonly #all: Tally;
  readonly #right: Notices;
  readonly #random: () => number;
  #waiting = 0;

  /** @param random in [0, 1): draws which one waits where more ask than may @param tallies with other processes */
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
    this.#right.onNotice = (origin) => this.#prove(origin);
    tallies.onLook(() => this.#all.set('secrets', this.#waiting));
  }

  /** How many wait for their verdict. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Asks `compare` whether the secret is right and calls `onVerdict`: at once (null is returned), or when its turn has come.
   * @param compare takes the same time whatever it finds
   */
  check(origin: string, compare: () => boolean, onVerdict: OnVerdict): WaitingSecret | null {
    const queue = this.#queueOf(origin);
    if (queue === null) {
      onVerdict(this.#look(origin, compare), 0);
      return null;
    }
    if (queue.most === 0 || this.#waiting + this.#all.others('secrets') >= this.#limits.remembered) {
      onVerdict('too-many', queue.retrySeconds);
      return null;
    }
    return queue.add(origin, compare, onVerdict);
  }

  /** Refuses all that wait: the server is about to stop. */
  close(): void {
    for (const queue of this.#queues.values()) queue.close();
  }

  /** Where this origin has to wait; null: nowhere. */
  #queueOf(origin: string): SecretQueue | null {
    const { mostOfOrigin, inAllPerMinute } = this.#limits;
    if (!this.#proven.has(origin)) {
      const everyMs = 60_000 / inAllPerMinute;
      const all = this.#queues.get(ALL);
      if (all !== undefined) return all;
      if (this.#wrongInAll.waitSeconds(ALL) > 0)
        return this.#open(ALL, everyMs, Math.ceil((mostOfOrigin * EVERY_MS) / everyMs));
    }
    const own = this.#queues.get(origin);
    if (own !== undefined) return own;
    return this.#wrong.waitSeconds(origin) > 0 ? this.#open(origin, EVERY_MS, mostOfOrigin) : null;
  }

  #open(name: string, everyMs: number, most: number): SecretQueue {
    const { mostOfOrigin } = this.#limits;
    const onCount = (change: number) => (this.#waiting += change);
    const queue = new SecretQueue({ everyMs, most, mostOfOrigin, random: this.#random, onCount });
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
    next.onVerdict(this.#look(next.origin, next.compare), 0);
  }

  #look(origin: string, compare: () => boolean): SecretVerdict {
    if (compare()) {
      this.#prove(origin);
      this.#right.add(origin, 1);
      return 'right';
    }
    this.#wrong.takeWhatIsThere(origin);
    this.#wrongInAll.takeWhatIsThere(ALL);
    return 'wrong';
  }

  #prove(origin: string): void {
    this.#proven.delete(origin);
    this.#proven.add(origin);
    if (this.#proven.size <= this.#limits.remembered) return;
    const [oldest] = this.#proven;
    this.#proven.delete(oldest!);
  }
}
