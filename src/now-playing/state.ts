/**
 * What must survive a crash for one channel, and what a change makes of it. Owned by the state machine (now-playing.ts); stores
 * only keep it, engines carry it. Plain data: every value survives JSON.
 */

import type { Track, TrackRecord } from '../metadata/record.js';

export interface ChannelState {
  /** The last stamp that any record of this node had been given when this was saved (titles/stamped.ts). */
  readonly stamp?: number;
  /** The version given last on this channel, 0 before the first. Rises by one with every change, published or not. */
  readonly version: number;
  readonly now: TrackRecord | null;
  readonly next: TrackRecord | null;
  /** How many other `now`s have taken effect since `next` was pushed (it is dropped at the second). */
  readonly nowsSinceNext: number;
  /** Whether `next` was pushed with a time of its own (then it is dropped 60 s after it). */
  readonly nextHasTime: boolean;
  /** Pushed `now`s that wait for their `startSeconds`, earliest first, of equal ones the first received. */
  readonly held: readonly Track[];
  /** The `time` that the last real `now` was pushed with where the moment of arrival took its place, unix seconds; else null. */
  readonly saidSeconds: number | null;
  /** The channel's own source is lost and the fallback title stands in for whatever else would be `now`. */
  readonly lost: boolean;
  /** While `lost`: the last real `now`, which returns with the source. */
  readonly covered: TrackRecord | null;
  /** Since when `now` stands in the history, unix milliseconds. */
  readonly onAirSinceMs: number;
  /** What was on air before, newest first, for messages that come late; absent: nothing. */
  readonly ended?: readonly PastPlay[];
}

/** How many plays that are over are known: behind a title often come a jingle and a spot, before its cover does. */
export const MAX_ENDED = 3;

/** A play that is over, as the history has it, and what `saidSeconds` was. */
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

/** A title that was on air. A play, known by the record's id and `fromMs`, has one entry, whichever version its record has at a machine. */
export interface HistoryEntry {
  readonly record: TrackRecord;
  /** Unix milliseconds; `toMs` null while it is on air. */
  readonly fromMs: number;
  readonly toMs: number | null;
}

/** What a change makes of a channel's state. */
export interface Change {
  readonly state: ChannelState;
  /** What readers get, or null when only the state changes. */
  readonly record: TrackRecord | null;
  /** Entries to write, each in place of one of the same play. */
  readonly history: readonly HistoryEntry[];
  /** The id of the connection that has asked for it, for the log. It is not kept. */
  readonly connection?: string | undefined;
}
