/**
 * The engine of a worker: changes are decided here, on the last state that the hub has sent, and committed there, if that is still the last one; else
 * they are decided again. What others change comes the same way as what is changed here.
 *
 *   decide on 7 ──► hub: is 7 the last? ──► commits 8 ──► to all workers ──► all have it ──► answer
 *                                     └───► no, 8 is: decided again, when 8 has come
 *
 * Where the hub is away a change waits for the next one; whether that has committed what was under way shows in its state: every decision can be
 * repeated, since what is in force already changes nothing. Passes test/titles/engine-contract.ts.
 */

import { retryLater, shuttingDown } from '../base/refusal.js';
import { type Change, type ChannelState, EMPTY_STATE } from '../now-playing/state.js';
import type { Deliver, Engine } from '../titles/engine.js';
import { LinkLost } from './questions.js';

/** How long a change waits for a hub, and what else is asked. */
export const PATIENCE_MS = 10_000;
const RETRY_SECONDS = 2;

/** As the hub answers it (control.ts, Questions). */
export interface Proposed {
  readonly isStale: boolean;
  readonly version: number;
}

export interface LinkEngineParts {
  /** Rejects with LinkLost where the link ends before the answer; `onDelivered` is called with the change as it was committed, before the answer. */
  propose(channel: string, version: number, change: Change, onDelivered: (change: Change) => void): Promise<Proposed>;
  /** Resolves when there is a hub and its states are known; false: not within this time. */
  isConnected(withinMs: number): Promise<boolean>;
  deliver: Deliver;
}

interface LinkedChannel {
  state: ChannelState;
  /** Whether a hub has said its state. */
  isKnown: boolean;
  /** The configuration has it no more. */
  isGone: boolean;
  /** Changes of this worker wait for each other. */
  tail: Promise<unknown>;
  /** Called when a newer state is known. */
  waiters: (() => void)[];
}

export class LinkEngine implements Engine {
  readonly #parts: LinkEngineParts;
  readonly #channels = new Map<string, LinkedChannel>();
  #isClosed = false;

  constructor(parts: LinkEngineParts) {
    this.#parts = parts;
  }

  state(channel: string): ChannelState {
    return this.#channel(channel).state;
  }

  update(channel: string, decide: (state: ChannelState) => Change | null): Promise<Change | null> {
    if (this.#isClosed) return Promise.reject(shuttingDown(RETRY_SECONDS));
    const linked = this.#channel(channel);
    const turn = linked.tail.then(() => this.#turn(linked, channel, decide));
    linked.tail = turn.catch(() => undefined);
    return turn;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#channels.values()].map(({ tail }) => tail));
  }

  /** A channel's state, as the hub has it when the link begins. */
  onState(channel: string, state: ChannelState): void {
    const linked = this.#channel(channel);
    linked.state = state;
    linked.isKnown = true;
    for (const wake of linked.waiters.splice(0)) wake();
  }

  /** Resolves when the hub has said the state of this channel, or the link has ended. */
  async known(channel: string): Promise<void> {
    const linked = this.#channel(channel);
    if (!linked.isKnown) await new Promise<void>((resolve) => linked.waiters.push(resolve));
  }

  /** The configuration has this channel no more: what is being decided of it is answered, and its state forgotten. */
  forget(channel: string): void {
    const linked = this.#channels.get(channel);
    if (linked === undefined) return;
    linked.isGone = true;
    this.#channels.delete(channel);
    for (const wake of linked.waiters.splice(0)) wake();
  }

  /** A change was committed. */
  onChange(channel: string, change: Change): void {
    this.onState(channel, change.state);
    this.#parts.deliver(channel, change);
  }

  async #turn(
    linked: LinkedChannel,
    channel: string,
    decide: (state: ChannelState) => Change | null,
  ): Promise<Change | null> {
    const { propose, isConnected } = this.#parts;
    const endMs = performance.now() + PATIENCE_MS;
    for (;;) {
      // A newer state of it comes no more.
      if (linked.isGone || !(await isConnected(endMs - performance.now()))) {
        throw retryLater('unavailable', 'The change could not be made durable. Nothing was applied.', RETRY_SECONDS);
      }
      const { version } = linked.state;
      const change = decide(linked.state);
      if (change === null) return null;
      let committed: Change | undefined;
      try {
        const proposed = await propose(channel, version, change, (delivered) => (committed = delivered));
        if (!proposed.isStale) return committed ?? change;
        await this.#newer(linked, proposed.version);
      } catch (error) {
        if (!(error instanceof LinkLost)) throw error;
      }
    }
  }

  /** Resolves when a state at least as new is here, or the link has ended. */
  async #newer(linked: LinkedChannel, version: number): Promise<void> {
    if (linked.state.version < version) await new Promise<void>((resolve) => linked.waiters.push(resolve));
  }

  /** The link has ended: who waits for a newer state looks again. */
  onLost(): void {
    for (const { waiters } of this.#channels.values()) for (const wake of waiters.splice(0)) wake();
  }

  #channel(channel: string): LinkedChannel {
    let linked = this.#channels.get(channel);
    if (linked === undefined) {
      linked = { state: EMPTY_STATE, isKnown: false, isGone: false, tail: Promise.resolve(), waiters: [] };
      this.#channels.set(channel, linked);
    }
    return linked;
  }
}
