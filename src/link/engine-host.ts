/**
 * The hub's engine, as workers take part in it: what a worker has decided is committed where its state is still the last one. All changes go through
 * here, the hub's own too, so that it is known of each who has decided it.
 */

import type { Change, ChannelState } from '../now-playing/state.js';
import type { Engine } from '../titles/engine.js';
import type { Proposed } from './link-engine.js';

/** A worker, and the number of what it asked. */
export type Proposer = readonly [worker: number, id: number];

export class EngineHost implements Engine {
  readonly #engine: Engine;
  /** Who has decided the change of a channel that is being committed; of one channel there is one at a time. */
  readonly #by = new Map<string, Proposer | null>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** To be asked while a change is delivered: who has decided it. Null: the hub. */
  proposerOf(channel: string): Proposer | null {
    return this.#by.get(channel) ?? null;
  }

  /** While a change is delivered that no process of this machine has decided. */
  elsewhere(channel: string, deliver: () => void): void {
    const by = this.#by.get(channel) ?? null;
    this.#by.set(channel, null);
    deliver();
    this.#by.set(channel, by);
  }

  state(channel: string): ChannelState {
    return this.#engine.state(channel);
  }

  update(channel: string, decide: (state: ChannelState) => Change | null): Promise<Change | null> {
    return this.#engine.update(channel, (state) => {
      this.#by.set(channel, null);
      return decide(state);
    });
  }

  /** Commits what a worker has decided on the state with this version. Rejects as `update` does. */
  async propose(channel: string, version: number, change: Change, by: Proposer): Promise<Proposed> {
    let last = version;
    const made = await this.#engine.update(channel, (state) => {
      this.#by.set(channel, by);
      last = state.version;
      return last === version ? change : null;
    });
    return made === null ? { isStale: true, version: last } : { isStale: false, version: made.state.version };
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}
