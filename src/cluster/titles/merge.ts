/**
 * Merges the changes that a node has committed alone with those of the others. Pure functions: the same input gives the same result on every node.
 *
 * The `now` and the `next` that were decided last win: by time, then by node. The other `now` goes to the history only. Held pushes are a set. A part
 * that no other node has changed stays as it was decided, with its version.
 */

import { isIdSent, isSamePlay, playId, type Track, type TrackRecord, withIdOf } from '../../metadata/record.js';
import { isSameTrack, isTitle, realNow } from '../../now-playing/effect.js';
import type { Change, ChannelState, HistoryEntry } from '../../now-playing/state.js';
import {
  type Decided,
  isBegunTwice,
  isLater,
  isSameHeld,
  type NextPart,
  type NowPart,
  nextPart,
  nowPart,
  type Ordered,
  saysTheSame,
  type Unsent,
} from './ordered.js';

export interface Merged {
  readonly ordered: Ordered;
  /** Whether a record has the version of the state. */
  readonly hasRecord: boolean;
  readonly history: readonly HistoryEntry[];
}

/** @returns null: no change */
export function merge(base: Ordered, given: Unsent): Merged | null {
  const { state } = base;
  const version = Math.max(state.version + 1, given.version);
  const isAlone = state.version === given.onVersion && saysTheSame(state.now, given.onNow);
  const unsent = isAlone ? given : asPlayOf(state, given);
  const takesNow = unsent.now !== undefined && isNewNow(base, unsent, isAlone);
  const now = takesNow ? renumberedNow(unsent, version) : nowPart(state);
  const takesNext = unsent.next !== undefined && isNewNext(base, unsent, isAlone, now.now);
  const next = takesNext ? renumberedNext(unsent, version) : nextPart(state);
  const held = mergedHeld(state, unsent, isAlone);
  const history = isAlone ? unsent.history : mergedHistory(state, unsent, takesNow ? now : null);
  const isRaised = unsent.version > state.version;
  if (!takesNow && !takesNext && held === state.held && history.length === 0 && !isRaised) return null;
  const merged: ChannelState = { ...state, version, ...now, ...next, held };
  return {
    ordered: {
      state: merged,
      now: takesNow ? unsent.decided : base.now,
      next: takesNext ? unsent.decided : base.next,
    },
    hasRecord: now.now?.version === version || next.next?.version === version,
    history,
  };
}

/** The state with all unsent changes merged into it. */
export function withUnsent(base: Ordered, unsent: readonly Unsent[]): Ordered {
  return unsent.reduce((ordered, one) => merge(ordered, one)?.ordered ?? ordered, base);
}

/** The changes that readers get when one state replaces another. Empty: none, not even another version. @param history to be saved with them */
export function changesBetween(
  before: ChannelState,
  after: ChannelState,
  history: readonly HistoryEntry[] = [],
): Change[] {
  const former = [before.next, before.now];
  const records = [after.next, after.now].filter(
    (record, i): record is TrackRecord => record !== null && !saysTheSame(record, former[i]!),
  );
  records.sort((one, other) => one.version - other.version);
  if (records.length > 0) {
    return records.map((record, i) => ({ state: after, record, history: i === 0 ? history : [] }));
  }
  return before.version === after.version && history.length === 0 ? [] : [{ state: after, record: null, history }];
}

/** A title that another node has begun as well is of that play: it has one beginning. */
function asPlayOf({ now, onAirSinceMs }: ChannelState, unsent: Unsent): Unsent {
  const record = unsent.now?.now ?? null;
  if (now === null || record === null || isSamePlay(now, record) || !isBegunTwice(now, record)) return unsent;
  const named = isIdSent(record) && !isIdSent(now) ? { ...record, madeId: playId(now) } : withIdOf(record, now);
  const same = { ...named, effectAtMs: now.effectAtMs } as TrackRecord;
  const history = unsent.history.map((row) =>
    isBegun(row, unsent) ? { ...row, record: same, fromMs: onAirSinceMs } : row,
  );
  return { ...unsent, now: { ...unsent.now!, now: same, onAirSinceMs }, history };
}

/** Whether it is the entry of the title that a change has begun or corrected. */
export function isBegun({ record, toMs }: HistoryEntry, { version }: Unsent): boolean {
  return toMs === null && record.version === version;
}

/** A record that is the same to readers does not replace it. */
function isNewNow({ state, now: decided }: Ordered, unsent: Unsent, isAlone: boolean): boolean {
  const { now } = unsent;
  if (isAlone) return true;
  const isOther = !saysTheSame(now!.now, state.now) || !saysTheSame(now!.covered, state.covered);
  return isOther && isLater(unsent.decided, decided);
}

function isNewNext({ state, next: decided }: Ordered, unsent: Unsent, isAlone: boolean, now: TrackRecord | null) {
  const { next } = unsent.next!;
  if (isAlone) return true;
  if (!isLater(unsent.decided, decided)) return false;
  if (next === null) {
    // It has dropped or used the `next` that it knew.
    return state.next !== null && state.next.effectAtMs <= unsent.decided.atMs;
  }
  const isSpent = now !== null && isSameTrack(next, now) && now.effectAtMs >= next.effectAtMs;
  return !isSpent && !saysTheSame(next, state.next);
}

/** Records made by this change get the change's version. */
function renumbered<T extends TrackRecord | null>(record: T, unsent: Unsent, version: number): T {
  return record?.version === unsent.version && version !== unsent.version ? { ...record, version } : record;
}

function renumberedNow(unsent: Unsent, version: number): NowPart {
  const { now, covered, ...rest } = unsent.now!;
  return { ...rest, now: renumbered(now, unsent, version), covered: renumbered(covered, unsent, version) };
}

function renumberedNext(unsent: Unsent, version: number): NextPart {
  const { next, ...rest } = unsent.next!;
  return { ...rest, next: renumbered(next, unsent, version) };
}

function mergedHeld(state: ChannelState, unsent: Unsent, isAlone: boolean): ChannelState['held'] {
  const { held } = state;
  if (unsent.held === undefined) return held;
  const { added, gone } = unsent.held;
  const kept = held.filter((track) => !gone.some((other) => isSameHeld(track, other)));
  const fresh = added.filter(
    (track) => !kept.some((other) => isSameHeld(track, other)) && (isAlone || !isOvertaken(track, state)),
  );
  if (fresh.length === 0 && kept.length === held.length) return held;
  return [...kept, ...fresh].sort((one, other) => one.startSeconds - other.startSeconds);
}

/** Whether a held push was played elsewhere while this node was away, or a title has taken effect behind its time: it must not replace that. */
function isOvertaken(track: Track, state: ChannelState): boolean {
  const now = realNow(state);
  if (now !== null && now.effectAtMs >= track.startSeconds * 1000) return true;
  return state.ended?.some(({ record }) => playId(record) === playId(track)) ?? false;
}

/** While nodes were apart both titles were on air, so their entries overlap. @param taken null: the other node's title stays in force */
function mergedHistory(state: ChannelState, unsent: Unsent, taken: NowPart | null): HistoryEntry[] {
  const own = unsent.history.find((row) => isBegun(row, unsent));
  const record = unsent.now?.now ?? null;
  if (record === null || own === undefined) return [...unsent.history];
  // Both describe one play, with different words.
  if (state.now !== null && state.onAirSinceMs === own.fromMs && isSamePlay(state.now, record)) {
    return taken === null ? [] : [{ record: taken.now!, fromMs: own.fromMs, toMs: null }];
  }
  if (taken === null) {
    // The common state has it too, or it only filled a gap until the title there.
    const isThere = saysTheSame(record, state.now) || state.ended?.some((past) => isBegunTwice(record, past.record));
    if (isThere || record.source === 'fallback') return [];
    return [{ ...own, toMs: Math.max(own.fromMs, state.onAirSinceMs) }];
  }
  const begins: HistoryEntry = { record: taken.now!, fromMs: own.fromMs, toMs: null };
  const history = [begins];
  if (state.now === null || !isTitle(state.now)) return history;
  const fromMs = state.onAirSinceMs;
  return [{ record: state.now, fromMs, toMs: Math.max(fromMs, own.fromMs) }, ...history];
}

/** The whole state of a node as one change to be merged, after the cluster has lost its data. @param id see Unsent */
export function allOf({ state, now }: Ordered, id: string, decided: Decided): Unsent {
  return {
    id,
    decided: now.atMs > 0 ? now : decided,
    version: state.version,
    onVersion: -1,
    onNow: null,
    now: nowPart(state),
    next: nextPart(state),
    ...(state.held.length > 0 && { held: { added: state.held, gone: [] } }),
    history: [],
  };
}
