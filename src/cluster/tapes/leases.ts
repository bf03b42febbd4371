/**
 * Which node feeds which channel. Redis has a lease of each, with an epoch that is counted up with every other owner; a node asks for its channels
 * together, three times a second, and at once when something has changed. Without Redis all stays as it is: a node that hears nothing of an owner any
 * more feeds the channel for its own listeners (shared-audio.ts).
 */

import { z } from 'zod';
import { NODE_NAME } from '../../config/cluster.js';
import { must } from '../../metadata/record-schema.js';
import type { Reply } from '../log/shared-log.js';

export interface LeaseOwner {
  /** '': nobody. */
  readonly node: string;
  /** Where it gives its tapes. */
  readonly url: string;
  readonly epoch: number;
  readonly beforeNode: string;
  readonly beforeUrl: string;
  /** What the owner says of the channel's audio, where that is news: JSON; '': as before. */
  readonly facts: string;
  /** When that was asked, monotonic milliseconds. */
  readonly askedMs: number;
}

/**
 * 0: not to have it. 1: only where nobody has it. 2: a source is on air here, or an encoder has come. 3: the same, and the owner cannot be reached.
 */
export type Wish = 0 | 1 | 2 | 3;

export interface Leased {
  readonly wish: Wish;
  /** The place of the source on air; less is better. */
  readonly rank: number;
  /** What is to be known of the channel's audio, where it is fed here: JSON; '': as before. */
  readonly facts: string;
  onOwner(owner: LeaseOwner): void;
  /** What `facts` has said last did not arrive, or is there no more. */
  onUnsaid(): void;
}

export interface LeasesParts {
  readonly node: string;
  readonly url: string;
  ask(args: readonly (string | number)[]): Promise<Reply>;
  channels(): Iterable<readonly [channel: string, leased: Leased]>;
  /** Another node has this one's name. */
  onNameTwice(): void;
  /** As ClusterEngineParts has it. */
  onBad(place: string, reason: string): void;
  onError(error: unknown): void;
}

const EVERY_MS = 300;
/**
 * How long a lease lasts without a renewal; how long where its owner cannot be reached either; and how long an owner goes by it that does not know.
 */
const LASTS_MS = 5000;
const STALE_MS = 800;
export const KNOWN_MS = 4000;
/** No source is on air; none is, and an encoder has come of which there is no audio yet. */
export const NO_RANK = 999;
export const EXPECTS_RANK = 998;
const FIELDS = 7;
/** Of what is said of a channel's audio (remote-facts.ts), in characters. */
const MAX_FACTS = 1024 * 1024;

/** '': there is none. */
const node = z.union([z.literal(''), z.string().regex(NODE_NAME)]);
const url = z.union([z.literal(''), z.url({ protocol: /^https?$/ }).max(1024)]);
const number = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);
/** What Redis answers for one channel (scripts.ts, LEASE): node, url, epoch, node and url of the owner before, version of the facts, facts. */
const leaseSchema = z.tuple([node, url, number, node, url, number, z.string().max(MAX_FACTS)]);

export class Leases {
  readonly #parts: LeasesParts;
  /** By channel that another node feeds: the version of its facts that is known. */
  readonly #known = new Map<string, string>();
  #timer: NodeJS.Timeout | null = null;
  #asking: Promise<void> | null = null;
  #isDue = false;
  #isClosed = false;

  constructor(parts: LeasesParts) {
    this.#parts = parts;
  }

  /** Resolves after the first answer, or when there is none. */
  start(): Promise<void> {
    this.#timer = setInterval(() => this.poke(), EVERY_MS);
    return this.#ask();
  }

  /** Something has changed. */
  poke(): void {
    if (this.#isClosed) return;
    if (this.#asking === null) void this.#ask();
    else this.#isDue = true;
  }

  /** Gives up all leases. Idempotent; never rejects. */
  close(): Promise<void> {
    return this.#last(0);
  }

  /** The next process of this node goes on with them, and is away for a moment. Idempotent; never rejects. */
  hold(): Promise<void> {
    return this.#last(4);
  }

  async #last(wish: 0 | 4): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#asking;
    const args = [...this.#parts.channels()].flatMap(([channel, { rank }]) => [channel, wish, rank, '', '']);
    await this.#parts.ask([...this.#head, ...args]).catch(() => null);
  }

  get #head(): readonly (string | number)[] {
    const { node, url } = this.#parts;
    return [node, url, LASTS_MS, STALE_MS];
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
    if (asked.length === 0) return;
    const args = asked.flatMap(([channel, { wish, rank, facts }]) => {
      return [channel, wish, rank, facts, this.#known.get(channel) ?? ''];
    });
    const askedMs = performance.now();
    try {
      const answer = (await this.#parts.ask([...this.#head, ...args])) as readonly string[] | null;
      if (answer === null) for (const [, leased] of asked) leased.onUnsaid();
      if (answer === null || this.#isClosed) return;
      if (answer[asked.length * FIELDS] === '1') this.#parts.onNameTwice();
      for (const [i, [channel, leased]] of asked.entries()) {
        this.#onAnswer(channel, leased, answer.slice(i * FIELDS, (i + 1) * FIELDS), askedMs);
      }
    } catch (error) {
      for (const [, leased] of asked) leased.onUnsaid();
      this.#parts.onError(error);
    }
  }

  /** The answer for one channel. A bad one changes nothing. */
  #onAnswer(channel: string, leased: Leased, fields: readonly string[], askedMs: number): void {
    try {
      const [node, url, epoch, beforeNode, beforeUrl, version, facts] = must(leaseSchema, fields);
      if (node === this.#parts.node && version === 0) leased.onUnsaid();
      leased.onOwner({ node, url, epoch, beforeNode, beforeUrl, facts, askedMs });
      // The owner itself sends no version: to the script that would mean another owner (scripts.ts).
      if (node === this.#parts.node) this.#known.delete(channel);
      else if (facts !== '') this.#known.set(channel, String(version));
    } catch (error) {
      this.#parts.onBad(`the lease of channel ${channel}`, (error as Error).message);
      leased.onUnsaid();
    }
  }
}
