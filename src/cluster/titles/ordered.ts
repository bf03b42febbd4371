/**
 * A channel's state as the nodes of a cluster have it in common, and what a node has changed while Redis was away (README.md, "While Redis is away").
 * Plain data: every value survives JSON.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Track, TrackRecord } from '../../metadata/record.js';
import { type Change, type ChannelState, EMPTY_STATE, type HistoryEntry } from '../../now-playing/state.js';

/** When and where something was decided: the order of what two nodes have decided apart. */
export interface Decided {
  /** Unix milliseconds by the clock of the cluster. */
  readonly atMs: number;
  readonly node: string;
}

export const NEVER: Decided = { atMs: 0, node: '' };

/** What all nodes agree on. */
export interface Ordered {
  readonly state: ChannelState;
  /** When what is `now`, and what is `next`, was decided. */
  readonly now: Decided;
  readonly next: Decided;
}

export const NOTHING: Ordered = { state: EMPTY_STATE, now: NEVER, next: NEVER };

/** The parts of a state, each of which is one node's or the other's. */
export type NowPart = Pick<ChannelState, 'now' | 'saidSeconds' | 'lost' | 'covered' | 'onAirSinceMs' | 'ended'>;
export type NextPart = Pick<ChannelState, 'next' | 'nowsSinceNext' | 'nextHasTime'>;

/** A change that its node has committed by itself: what it has changed, as it can be merged with what others have. */
export interface Unsent {
  /** Under this id it is in the log of the cluster, once it is there. */
  readonly id: string;
  readonly decided: Decided;
  /** The state's, once the change was made. */
  readonly version: number;
  /** The version on which it was decided, and the now that was in force there. */
  readonly onVersion: number;
  readonly onNow: TrackRecord | null;
  /** Absent: not changed. */
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

/** What a change has changed. @param before the state on which it was decided */
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

export function isSameHeld(one: Track, other: Track): boolean {
  return isDeepStrictEqual(one, other);
}

/** Whether what was decided here comes behind that: by time, then by node. */
export function isLater(one: Decided, other: Decided): boolean {
  return one.atMs === other.atMs ? one.node > other.node : one.atMs > other.atMs;
}

/** Two nodes that bring the same title about by themselves do so within this time; a title that is played again is not that soon over. */
const SAME_MOMENT_MS = 10_000;

/**
 * Whether two records say the same to readers: readers of the one do not get the other. That is so of one record with another version, and of what
 * two nodes have brought about each by itself: a held push that was due, a title of the stream, the fallback title.
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
