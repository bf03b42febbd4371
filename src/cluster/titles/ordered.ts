/**
 * A channel's state common to all nodes of a cluster, and a node's changes while Redis was away (README.md, "While Redis is away").
 * Plain data: every value survives JSON.
 */

import { isDeepStrictEqual } from 'node:util';
import { isIdSent, isSameWords, type Track, type TrackRecord } from '../../metadata/record.js';
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

/** Characters of an unsent change on average, at most: all of a channel are written with each of its changes. Most have 6,000. */
const UNSENT_CHARACTERS = 8192;
const characters = new WeakMap<Unsent, number>();

function charactersOf(one: Unsent): number {
  let count = characters.get(one);
  if (count === undefined) characters.set(one, (count = JSON.stringify(one).length));
  return count;
}

/** The last of these changes that may wait together, the last one in any case. @param most of them */
export function newest(all: readonly Unsent[], most: number): readonly Unsent[] {
  let left = most * UNSENT_CHARACTERS;
  let from = all.length - 1;
  for (left -= charactersOf(all[from]!); from > 0 && all.length - from < most; from--) {
    left -= charactersOf(all[from - 1]!);
    if (left < 0) break;
  }
  return all.slice(from);
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
export const SAME_MOMENT_MS = 10_000;

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

/** Whether two records, with whatever corrections, are of one play that two nodes have begun, each at its own moment. */
export function isBegunTwice(one: TrackRecord, other: TrackRecord): boolean {
  if (one.source !== other.source || Math.abs(one.effectAtMs - other.effectAtMs) > SAME_MOMENT_MS) return false;
  return one.id === other.id || (isSameWords(one, other) && !(isIdSent(one) && isIdSent(other)));
}

function wordsOf(record: TrackRecord): string {
  const { type, artist, song, separator, durationSeconds, etype, isrc, cover, album, timezone, images, extdata } =
    record;
  return JSON.stringify([
    ...[type, artist, song, separator, durationSeconds, etype],
    ...[isrc, cover, album, timezone, images, extdata],
  ]);
}
