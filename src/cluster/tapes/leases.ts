/**
 * Which node feeds which channel. Redis holds a lease for each channel, with an epoch that rises with every change of owner. A node asks for all its
 * channels together, three times a second, and at once after a change. Without Redis nothing changes; a node that loses contact to an owner feeds the
 * channel for its own listeners (feeding.ts).
 */

import { randomUUID } from 'node:crypto';
import { must } from '../../metadata/record-schema.js';
import { type AskedLease, type Lease, type LeaseAnswer, type LeaseQuestion, leaseSchema } from '../log/log-schema.js';

export interface LeaseOwner extends Omit<Lease, 'version'> {
  /** When the question was sent, monotonic milliseconds. */
  readonly askedMs: number;
}

export type Wish = Exclude<AskedLease['wish'], 4>;

export interface Leased {
  readonly wish: Wish;
  /** Rank of the source on air; lower is better. */
  readonly rank: number;
  /** New facts of the channel's audio, if it is fed here (remote-facts.ts); '': unchanged. */
  readonly facts: string;
  onOwner(owner: LeaseOwner): void;
  /** The last `facts` did not arrive, or are lost. */
  onUnsaid(): void;
}

export interface LeasesParts {
  readonly node: string;
  readonly url: string;
  /** Null: Redis is away. */
  ask(asked: LeaseQuestion): Promise<LeaseAnswer | null>;
  channels(): Iterable<readonly [channel: string, leased: Leased]>;
  /** Another node uses the same name. */
  onNameTaken(): void;
  /** See ClusterEngineParts. */
  onBad(place: string, reason: string): void;
  onError(error: unknown): void;
}

const EVERY_MS = 300;
/**
 * How long a lease lasts without renewal; how long if its owner cannot be reached either; and how long an owner relies on it without an answer.
 */
const LASTS_MS = 5000;
const STALE_MS = 800;
export const KNOWN_MS = 4000;
/** Ranks without a source on air; with an encoder that has connected but sent no audio yet. */
export const NO_RANK = 999;
export const EXPECTS_RANK = 998;

export class Leases {
  readonly #parts: LeasesParts;
  readonly #run = randomUUID();
  /** How many answers in a row have said that another process asks in this node's name: one may be of the process before this one. */
  #timesTaken = 0;
  /** By channel that another node feeds: the known version of its facts. */
  readonly #known = new Map<string, number>();
  /** By channel that this node feeds: the version of the facts that it has published. */
  readonly #published = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #asking: Promise<void> | null = null;
  #isDue = false;
  #isClosed = false;

  constructor(parts: LeasesParts) {
    this.#parts = parts;
  }

  /** Resolves after the first answer, or the first failure. */
  start(): Promise<void> {
    this.#timer = setInterval(() => this.poke(), EVERY_MS);
    return this.#ask();
  }

  /** Asks at once, after a change. */
  poke(): void {
    if (this.#isClosed) return;
    if (this.#asking === null) void this.#ask();
    else this.#isDue = true;
  }

  /** Gives up all leases. Idempotent; never rejects. */
  close(): Promise<void> {
    return this.#last(0);
  }

  /** Keeps the leases for the next process of this node, which starts in a moment. Idempotent; never rejects. */
  hold(): Promise<void> {
    return this.#last(4);
  }

  async #last(wish: 0 | 4): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#asking;
    const leases = [...this.#parts.channels()].map(([channel, { rank }]) => {
      return { channel, wish, rank, facts: '', known: null };
    });
    await this.#parts.ask(this.#question(leases)).catch(() => null);
  }

  #question(leases: readonly AskedLease[]): LeaseQuestion {
    const { node, url } = this.#parts;
    return { node, url, run: this.#run, lastsMs: LASTS_MS, staleMs: STALE_MS, leases };
  }

  #ask(): Promise<void> {
    this.#asking = this.#askOnce().finally(() => {
      this.#asking = null;
      if (this.#isDue) {
        this.#isDue = false;
        this.poke();
      }
    });
    return this.#asking;
  }

  async #askOnce(): Promise<void> {
    const asked = [...this.#parts.channels()];
    const leases = asked.map(([channel, { wish, rank, facts }]) => {
      return { channel, wish, rank, facts, known: this.#known.get(channel) ?? null };
    });
    const askedMs = performance.now();
    try {
      const answer = await this.#parts.ask(this.#question(leases));
      if (answer === null) for (const [, leased] of asked) leased.onUnsaid();
      if (answer === null || this.#isClosed) return;
      this.#timesTaken = answer.isNameTaken ? this.#timesTaken + 1 : 0;
      if (this.#timesTaken > 1) this.#parts.onNameTaken();
      for (const [i, [, leased]] of asked.entries()) {
        this.#onAnswer(leased, leases[i]!, answer.leases[i], askedMs);
      }
    } catch (error) {
      for (const [, leased] of asked) leased.onUnsaid();
      this.#parts.onError(error);
    }
  }

  /** The answer for one channel. A malformed one has no effect. */
  #onAnswer(leased: Leased, { channel, ...asked }: AskedLease, answer: Lease | undefined, askedMs: number): void {
    try {
      const { version, ...lease } = must(leaseSchema, answer);
      const { node, facts } = lease;
      const isMine = node === this.#parts.node;
      if (!isMine) this.#published.delete(channel);
      else if (asked.facts !== '') this.#published.set(channel, version);
      // Lost, or another program wrote some in this node's name.
      else if (version !== this.#published.get(channel)) leased.onUnsaid();
      leased.onOwner({ ...lease, askedMs });
      // The owner itself sends no version: that would mean another owner.
      if (isMine) this.#known.delete(channel);
      else if (facts !== '') this.#known.set(channel, version);
    } catch (error) {
      this.#parts.onBad(`the lease of channel ${channel}`, (error as Error).message);
      leased.onUnsaid();
    }
  }
}
