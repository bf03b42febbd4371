/**
 * The port through which every change of metadata goes, whether this is one process or many machines: a change is decided on the
 * channel's last state, committed, and then heard by every node in version order. Implementations: local.ts (default).
 */

import type { TrackRecord } from '../metadata/record.js';
import type { ChannelState } from '../metadata/state.js';

/** What a change makes of a channel's state. Pure and repeatable: an engine may ask again on a newer state. */
export interface Change {
  readonly state: ChannelState;
  /** What readers are told, or null when only the state changes. */
  readonly record: TrackRecord | null;
}

/** Every node hears every change of a channel, in version order, after its commit. */
export type Deliver = (channel: string, change: Change) => void;

export interface Engine {
  /** The committed state of a channel. */
  state(channel: string): ChannelState;
  /**
   * Decides, commits, delivers; resolves with the change after this node's readers have been written to, or with null when
   * `decide` finds nothing to change. Rejects with Refusal `unavailable` when it cannot be made durable: nothing has changed then.
   */
  update(channel: string, decide: (state: ChannelState) => Change | null): Promise<Change | null>;
  /** Refuses new changes, waits for those under way. Idempotent. */
  close(): Promise<void>;
}
