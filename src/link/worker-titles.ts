/**
 * Titles at a worker: a read-only copy of each channel's state, as the hub sends it, and the pushes and withdrawals that the hub is asked to decide.
 * Those of one channel run one after the other. If the hub ends before it has answered, the request is repeated at the next hub; a push that is in
 * force already changes nothing there.
 */

import { shuttingDown } from '../base/refusal.js';
import { SerialQueue } from '../base/serial-queue.js';
import type { PushInput } from '../metadata/push-input.js';
import { type ChannelState, EMPTY_STATE } from '../now-playing/state.js';
import type { States } from '../titles/engine.js';
import type { DecidedPush, PushDecisions, Withdrawal } from '../titles/push-decider.js';
import type { Question, Questions } from './control-schema.js';

const RETRY_SECONDS = 2;

/** Resolves with the hub's answer. Rejects with a Refusal. */
export type AskHub = <Q extends Question>(question: Q, ask: Questions[Q]['ask']) => Promise<Questions[Q]['answer']>;

interface ChannelTitles {
  state: ChannelState;
  /** Whether a hub has sent it. */
  isKnown: boolean;
  readonly requests: SerialQueue;
  /** Called when the state is known, or the channel is removed. */
  waiters: (() => void)[];
}

export class WorkerTitles implements States, PushDecisions {
  readonly #ask: AskHub;
  readonly #channels = new Map<string, ChannelTitles>();
  #isClosed = false;

  constructor(ask: AskHub) {
    this.#ask = ask;
  }

  state(channel: string): ChannelState {
    return this.#channels.get(channel)?.state ?? EMPTY_STATE;
  }

  push(channel: string, input: PushInput, connection?: string): Promise<DecidedPush> {
    return this.#inTurn(channel, () => this.#ask('push', { channel, input, connection }));
  }

  withdraw(channel: string, what: Withdrawal): Promise<boolean> {
    return this.#inTurn(channel, () => this.#ask('withdraw', { channel, what }));
  }

  set(channel: string, state: ChannelState): void {
    const titles = this.#of(channel);
    titles.state = state;
    titles.isKnown = true;
    this.#wake(titles);
  }

  /** Resolves when a hub has sent the state of this channel, or the link is lost. */
  async known(channel: string): Promise<void> {
    const titles = this.#of(channel);
    if (!titles.isKnown) await new Promise<void>((resolve) => titles.waiters.push(resolve));
  }

  /** The channel was removed from the configuration. */
  forget(channel: string): void {
    const titles = this.#channels.get(channel);
    this.#channels.delete(channel);
    if (titles !== undefined) this.#wake(titles);
  }

  onLost(): void {
    for (const titles of this.#channels.values()) this.#wake(titles);
  }

  /** Refuses new requests, and waits for those in progress. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#channels.values()].map(({ requests }) => requests.settled));
  }

  #inTurn<T>(channel: string, ask: () => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(shuttingDown(RETRY_SECONDS));
    return this.#of(channel).requests.run(ask);
  }

  #wake({ waiters }: ChannelTitles): void {
    for (const wake of waiters.splice(0)) wake();
  }

  #of(channel: string): ChannelTitles {
    let titles = this.#channels.get(channel);
    if (titles === undefined) {
      titles = { state: EMPTY_STATE, isKnown: false, requests: new SerialQueue(), waiters: [] };
      this.#channels.set(channel, titles);
    }
    return titles;
  }
}
