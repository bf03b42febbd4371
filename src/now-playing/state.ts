/**
 * The state of one channel, which must survive a crash, and a change of it. Made by the state machine (now-playing.ts); stores and engines
 * only pass it on. Plain data: every value survives JSON.
 */

import type { Track, TrackRecord } from '../metadata/record.js';

export interface ChannelState {
  /** The last stamp of any record of this node when this was saved (titles/stamped.ts). */
  readonly stamp?: number;
  /** 0 before the first change. Rises by one with every change, published or not. */
  readonly version: number;
  readonly now: TrackRecord | null;
  readonly next: TrackRecord | null;
  /** How many other `now`s have taken effect since `next` was pushed; the second drops it. */
  readonly nowsSinceNext: number;
  /** Whether `next` was pushed with a time; it is dropped 60 s after that. */
  readonly nextHasTime: boolean;
  /** Held pushes by `startSeconds`, then by arrival. */
  readonly held: readonly Track[];
  /** The `time` with which the last real `now` was pushed, if its arrival replaced it, unix seconds; else null. */
  readonly saidSeconds: number | null;
  /** The channel's own source is lost, and the fallback title in force. */
  readonly lost: boolean;
  /** While `lost`: the last real `now`, which will return with the source. */
  readonly covered: TrackRecord | null;
  /** The start of `now` in the history, unix milliseconds. */
  readonly onAirSinceMs: number;
  /** Past plays, newest first, for late messages; absent: none. */
  readonly ended?: readonly PastPlay[];
}

/** How many past plays are kept: a title's cover may come after a jingle and a spot. */
export const MAX_ENDED = 3;

/** A past play as in the history, with its `saidSeconds`. */
export interface PastPlay extends HistoryEntry {
  readonly toMs: number;
  readonly saidSeconds: number | null;
}

export const EMPTY_STATE: ChannelState = {
  version: 0,
  now: null,
  next: null,
  nowsSinceNext: 0,
  nextHasTime: false,
  held: [],
  saidSeconds: null,
  lost: false,
  covered: null,
  onAirSinceMs: 0,
};

/** A title that was on air. A play has one entry, identified by the record's id and `fromMs`, whatever its version. */
export interface HistoryEntry {
  readonly record: TrackRecord;
  /** Unix milliseconds; `toMs` null while it is on air. */
  readonly fromMs: number;
  readonly toMs: number | null;
}

/** A change of a channel. */
export interface Change {
  readonly state: ChannelState;
  /** The record for readers; null: only the state changes. */
  readonly record: TrackRecord | null;
  /** Entries to write, each replacing one of the same play. */
  readonly history: readonly HistoryEntry[];
  /** The id of the connection that has caused it, for the log. Not stored. */
  readonly connection?: string | undefined;
}
