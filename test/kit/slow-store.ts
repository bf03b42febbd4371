/** A store whose commits take a random time; they can be made to wait, or to fail. */

import type { ChannelState, HistoryEntry } from '../../src/now-playing/state.js';
import { MemoryStore } from './memory-store.js';
import { pause } from './pause.js';

export class SlowStore extends MemoryStore {
  failing = false;
  #gate: Promise<void> = Promise.resolve();
  #saves = 0;

  /** Holds commits until the returned function is called. */
  pause(): () => void {
    let go = () => {};
    this.#gate = new Promise((done) => {
      go = done;
    });
    return go;
  }

  override async save(
    channel: string,
    state: ChannelState,
    history?: readonly HistoryEntry[],
    gone?: readonly HistoryEntry[],
  ): Promise<void> {
    await pause([3, 0, 1][this.#saves++ % 3]!);
    await this.#gate;
    if (this.failing) throw new Error('no');
    await super.save(channel, state, history, gone);
  }
}
