/**
 * What must survive a crash for one channel. Owned by the state machine (now-playing.ts); stores only keep it, engines carry it.
 * Plain data: every value survives JSON.
 */

import type { TrackRecord } from './record.js';

export interface ChannelState {
  /** The version given last on this channel, 0 before the first. */
  readonly version: number;
  readonly now: TrackRecord | null;
  readonly next: TrackRecord | null;
  /** How many other `now`s have taken effect since `next` was pushed (it is dropped at the second). */
  readonly nowsSinceNext: number;
  /** Whether `next` was pushed with a time of its own (then it is dropped 60 s after it). */
  readonly nextHasTime: boolean;
}

export const EMPTY_STATE: ChannelState = { version: 0, now: null, next: null, nowsSinceNext: 0, nextHasTime: false };
