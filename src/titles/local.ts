/**
 * The engine of a single process: a queue per channel, the store behind it. Changes of one channel wait for each other (so what
 * is decided is always decided on committed ground); changes of different channels share the store's commits.
 */

import { Refusal } from '../base/refusal.js';
import { type Change, type ChannelState, EMPTY_STATE } from '../now-playing/state.js';
import type { Store } from '../store/store.js';
import type { Deliver, Engine } from './engine.js';

interface ChannelQueue {
  state: ChannelState;
  tail: Promise<unknown>;
}

export class LocalEngine implements Engine {
  readonly #lanes = new Map<string, ChannelQueue>();
  readonly #store: Store;
  readonly #deliver: Deliver;
  readonly #onError: (error: unknown) => void;
  #closed = false;

  /** @param report told the cause when the store fails; the pusher is told only that it did */
  constructor(store: Store, deliver: Deliver, report: (error: unknown) => void) {
    this.#store = store;
    this.#deliver = deliver;
    this.#onError = report;
  }

  state(channel: string): ChannelState {
    return this.#lane(channel).state;
  }

  update(channel: string, decide: (state: ChannelState) => Change | null): Promise<Change | null> {
    if (this.#closed) return Promise.reject(unavailable('The server is shutting down.'));
    const lane = this.#lane(channel);
    const turn = lane.tail.then(() => this.#turn(lane, channel, decide));
    lane.tail = turn.catch(() => undefined);
    return turn;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#lanes.values()].map((lane) => lane.tail));
  }

  async #turn(
    lane: ChannelQueue,
    channel: string,
    decide: (state: ChannelState) => Change | null,
  ): Promise<Change | null> {
    const change = decide(lane.state);
    if (change === null) return null;
    try {
      await this.#store.save(channel, change.state, change.history);
    } catch (error) {
      this.#onError(error);
      throw unavailable('The change could not be made durable. Nothing was applied.');
    }
    lane.state = change.state;
    this.#deliver(channel, change);
    return change;
  }

  #lane(channel: string): ChannelQueue {
    let lane = this.#lanes.get(channel);
    if (lane === undefined) {
      lane = { state: this.#store.load(channel) ?? EMPTY_STATE, tail: Promise.resolve() };
      this.#lanes.set(channel, lane);
    }
    return lane;
  }
}

function unavailable(detail: string): Refusal {
  return new Refusal('unavailable', detail, { headers: { 'Retry-After': '2' } });
}
