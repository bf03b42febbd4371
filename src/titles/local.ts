/**
 * The engine of a single node: a queue for each channel before the store. Each change is decided on the committed state of the
 * one before it; changes of different channels share the store's commits.
 */

import { retryLater, shuttingDown } from '../base/refusal.js';
import { SerialQueue } from '../base/serial-queue.js';
import { type Change, type ChannelState, EMPTY_STATE } from '../now-playing/state.js';
import type { Store } from '../store/store.js';
import { channelRemoved, type Deliver, type Engine } from './engine.js';

/** By then the disk may have space again, or another process may have taken over. */
const RETRY_SECONDS = 2;

interface ChannelQueue {
  state: ChannelState;
  readonly changes: SerialQueue;
}

export class LocalEngine implements Engine {
  readonly #queues = new Map<string, ChannelQueue>();
  readonly #store: Store;
  readonly #deliver: Deliver;
  readonly #onError: (error: unknown) => void;
  readonly #has: (channel: string) => boolean;
  #closed = false;

  /**
   * @param onError called with the cause when the store fails, which a push's answer does not reveal
   * @param has whether the channel is there: a reload takes some out while a change waits for its turn
   */
  constructor(
    store: Store,
    deliver: Deliver,
    onError: (error: unknown) => void,
    has: (channel: string) => boolean = () => true,
  ) {
    this.#store = store;
    this.#deliver = deliver;
    this.#onError = onError;
    this.#has = has;
  }

  state(channel: string): ChannelState {
    return this.#queue(channel).state;
  }

  update(channel: string, decide: (state: ChannelState) => Change | null): Promise<Change | null> {
    if (this.#closed) return Promise.reject(shuttingDown(RETRY_SECONDS));
    const queue = this.#queue(channel);
    return queue.changes.run(() => this.#turn(queue, channel, decide));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#queues.values()].map(({ changes }) => changes.settled));
  }

  async #turn(
    queue: ChannelQueue,
    channel: string,
    decide: (state: ChannelState) => Change | null,
  ): Promise<Change | null> {
    if (!this.#has(channel)) throw channelRemoved();
    const change = decide(queue.state);
    if (change === null) return null;
    try {
      await this.#store.save(channel, change.state, change.history);
    } catch (error) {
      this.#onError(error);
      throw retryLater('unavailable', 'The change could not be saved. Nothing was applied.', RETRY_SECONDS);
    }
    queue.state = change.state;
    this.#deliver(channel, change);
    return change;
  }

  #queue(channel: string): ChannelQueue {
    let queue = this.#queues.get(channel);
    if (queue === undefined) {
      queue = { state: this.#store.load(channel) ?? EMPTY_STATE, changes: new SerialQueue() };
      this.#queues.set(channel, queue);
    }
    return queue;
  }
}
