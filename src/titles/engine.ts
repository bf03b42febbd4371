/**
 * The port through which every change of metadata goes, whether this is one process or many machines: a change is decided on the
 * channel's last state, committed, and then delivered to each node in version order. Invariant: a change's version is one more than
 * that of the state before it (src/titles/README.md, "The engine's contract"). Implementations: local.ts (default); all pass
 * test/titles/engine-contract.ts.
 */

import type { Change, ChannelState } from '../now-playing/state.js';

/** Called on this node with every change of a channel, whichever node has decided it, in version order, after its commit. */
export type Deliver = (channel: string, change: Change) => void;

export interface States {
  /** The committed state of a channel. */
  state(channel: string): ChannelState;
}

export interface Engine extends States {
  /**
   * Decides, commits, delivers; resolves with the change once this node's readers have been written to, or with null when `decide`
   * finds nothing to change. What `decide` throws comes back as the rejection. Rejects with Refusal `unavailable` when it cannot be
   * made durable: nothing has changed then.
   * @param decide pure and repeatable: an engine may ask again on a newer state
   */
  update(channel: string, decide: (state: ChannelState) => Change | null): Promise<Change | null>;
  /** Refuses new changes, waits for those under way. Idempotent. */
  close(): Promise<void>;
}
