/**
 * The port behind which now, next and history are kept. Implementations: lmdb.ts (default), memory.ts (tests); both pass
 * test/store/contract.ts. The state machine (metadata/now-playing.ts) owns what is in a ChannelState; a store only keeps it.
 */

import type { ChannelState } from '../metadata/state.js';

export interface Store {
  /** The last committed state of a channel, or undefined when nothing was ever saved. Read at start. */
  load(channel: string): ChannelState | undefined;
  /**
   * Commits a channel's state as one transaction; resolves when a kill -9 of this process can no longer lose it.
   * Rejects when it cannot be made durable, and then nothing of it is visible. One save at a time per channel (the caller's duty).
   */
  save(channel: string, state: ChannelState): Promise<void>;
  /** Waits for what is under way, then lets go of the folder. Idempotent. */
  close(): Promise<void>;
}
