/**
 * The store of tests: keeps states as JSON text, so that what is loaded is what a disk would give back, and nothing that a caller
 * still holds can change it.
 */

import type { ChannelState } from '../metadata/state.js';
import type { Store } from './store.js';

export class MemoryStore implements Store {
  readonly #texts = new Map<string, string>();
  #closed = false;

  load(channel: string): ChannelState | undefined {
    const text = this.#texts.get(channel);
    return text === undefined ? undefined : JSON.parse(text);
  }

  async save(channel: string, state: ChannelState): Promise<void> {
    if (this.#closed) throw new Error('The store is closed');
    this.#texts.set(channel, JSON.stringify(state));
  }

  async close(): Promise<void> {
    this.#closed = true;
  }
}
