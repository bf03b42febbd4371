/**
 * The port for every change of metadata, with one process or many machines: a change is decided on the channel's last state,
 * committed, and then delivered to each node in version order. Invariant: a change's version is one more than that of the previous
 * state (src/titles/README.md, "The engine's contract"). Implementations: local.ts (default) and cluster/titles/cluster-engine.ts; both pass
 * test/titles/engine-contract.ts.
 */

import { Refusal } from '../base/refusal.js';
import type { Change, ChannelState } from '../now-playing/state.js';

/** Called on this node with every committed change of a channel, whichever node has decided it, in version order. */
export type Deliver = (channel: string, change: Change) => void;

export interface States {
  /** The committed state of a channel. */
  state(channel: string): ChannelState;
}

export interface Engine extends States {
  /**
   * Decides, commits, delivers. Resolves once readers here have been written to; null: nothing changes. Rejects as `decide`, with `unavailable`
   * (not durable, nothing changed), `not-found` (the channel is gone). @param decide pure: may be called again with a newer state
   */
  update(channel: string, decide: (state: ChannelState) => Change | null): Promise<Change | null>;
  /** Refuses new changes and waits for those under way. Idempotent. */
  close(): Promise<void>;
}

/** For a change that is under way while a reload takes its channel out. */
export function channelRemoved(): Refusal {
  return new Refusal('not-found', 'There is no such channel.');
}
