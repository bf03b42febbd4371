/**
 * A channel's state common to all nodes of a cluster, and a node's changes while Redis was away (README.md, "While Redis is away").
 * Plain data: every value survives JSON.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Track, TrackRecord } from '../../metadata/record.js';
import { type Change, type ChannelState, EMPTY_STATE, type HistoryEntry } from '../../now-playing/state.js';

/** When and where something was decided. It orders the decisions of two nodes that were apart. */
export interface Decided {
  /** Unix milliseconds of the cluster time. */
  readonly atMs: number;
  readonly node: string;
}

export const NEVER: Decided = { atMs: 0, node: '' };

/** The state common to all nodes. */
export interface Ordered {
  readonly state: ChannelState;
  /** The decisions that have set `now` and `next`. */
  readonly now: Decided;
  readonly next: Decided;
}

export const NOTHING: Ordered = { state: EMPTY_STATE, now: NEVER, next: NEVER };

/** The parts of a state that are merged as a whole: each is taken from one node or the other. */
export type NowPart = Pick<ChannelState, 'now' | 'saidSeconds' | 'lost' | 'covered' | 'onAirSinceMs' | 'ended'>;
export type NextPart = Pick<ChannelState, 'next' | 'nowsSinceNext' | 'nextHasTime'>;

/** A change that a node has committed alone: its differences, which can be merged with the changes of others. */
export interface Unsent {
  /** Its id in the log later. */
  readonly id: string;
  readonly decided: Decided;
  /** The version of the resulting state. */
  readonly version: number;
  /** The version on which it was decided, and the `now` of that state. */
  readonly onVersion: number;
  readonly onNow: TrackRecord | null;
  /** Absent: unchanged. */
  readonly now?: NowPart;
  readonly next?: NextPart;
  readonly held?: { readonly added: readonly Track[]; readonly gone: readonly Track[] };
  readonly history: readonly HistoryEntry[];
}

export function nowPart({ now, saidSeconds, lost, covered, onAirSinceMs, ended }: ChannelState): NowPart {
  return { now, saidSeconds, lost, covered, onAirSinceMs, ...(ended !== undefined && { ended }) };
}

export function nextPart({ next, nowsSinceNext, nextHasTime }: ChannelState): NextPart {
  return { next, nowsSinceNext, nextHasTime };
}

/** The differences that a change makes. @param before the state on which it was decided */
export function unsentOf(before: ChannelState, { state, history }: Change, id: string, decided: Decided): Unsent {
  const added = state.held.filter((track) => !before.held.some((other) => isSameHeld(track, other)));
  const gone = before.held.filter((track) => !state.held.some((other) => isSameHeld(track, other)));
  return {
    id,
    decided,
    version: state.version,
    onVersion: before.version,
    onNow: before.now,
    history,
    ...(!isDeepStrictEqual(nowPart(before), nowPart(state)) && { now: nowPart(state) }),
    ...(!isDeepStrictEqual(nextPart(before), nextPart(state)) && { next: nextPart(state) }),
    ...(added.length + gone.length > 0 && { held: { added, gone } }),
  };
}

/** The common state after a change that was decided on `before`, with the decisions that are still in force. */
export function orderedAfter(base: Ordered, before: ChannelState, state: ChannelState, decided: Decided): Ordered {
  const isNow = state.now !== before.now || state.covered !== before.covered || state.lost !== before.lost;
  const isNext = state.next !== before.next;
  return { state, now: isNow ? decided : base.now, next: isNext ? decided : base.next };
}

export function isSameHeld(one: Track, other: Track): boolean {
  return isDeepStrictEqual(one, other);
}

/** Whether `one` was decided after `other`: by time, then by node. */
export function isLater(one: Decided, other: Decided): boolean {
  return one.atMs === other.atMs ? one.node > other.node : one.atMs > other.atMs;
}

/** Two nodes that cause the same title independently do so within this time. A repeated title takes longer to come again. */
const SAME_MOMENT_MS = 10_000;

/**
 * Whether two records are the same to readers, who get only one of them: one record with two versions, or a title that two nodes have caused
 * independently (a held push that was due, a title of the stream, the fallback title).
 */
export function saysTheSame(one: TrackRecord | null, other: TrackRecord | null): boolean {
  if (one === null || other === null) return one === other;
  if (one.source !== other.source || wordsOf(one) !== wordsOf(other)) return false;
  if (one.source === 'fallback') return true;
  if (one.source === 'metapush' && one.id !== other.id) return false;
  return Math.abs(one.effectAtMs - other.effectAtMs) <= SAME_MOMENT_MS;
}

function wordsOf(record: TrackRecord): string {
  const { type, artist, song, separator, durationSeconds, etype, isrc, cover, album, timezone, images, extdata } =
    record;
  return JSON.stringify([
    ...[type, artist, song, separator, durationSeconds, etype],
    ...[isrc, cover, album, timezone, images, extdata],
  ]);
}
