/**
 * The effect of a record on a channel: the next that it spends, its history entries, and what the fallback title covers.
 * Pure functions; the only place that makes a Change.
 *
 * Invariant: every change raises the channel's version by one, and a record has the version of the change that made it.
 */

import {
  isIdSent,
  isSamePlay,
  isSameWords,
  type Track,
  type TrackRecord,
  titleLine,
  withIdOf,
} from '../metadata/record.js';
import { type Change, type ChannelState, type HistoryEntry, MAX_ENDED, type PastPlay } from './state.js';

export interface Moment {
  /** The channel key. */
  readonly channel: string;
  /** Unix milliseconds. */
  readonly wallMs: number;
  /** A new UUID, for senders that gave no id. */
  readonly newId: () => string;
  /** How long the real now has been in force, milliseconds, however the wall clock was set meanwhile. */
  readonly ageMs: (now: TrackRecord) => number;
}

/** How long after its start a next that was pushed with a time is dropped. */
const NEXT_KEPT_MS = 60_000;
/** Below this a wall clock that goes back is taken for a burst of titles, above for a clock that was set. */
const SAME_MOMENT_MS = 1000;

/** The next as readers see it now; null: none, or its time (if pushed with one) passed NEXT_KEPT_MS ago. */
export function currentNext(state: ChannelState, wallMs: number): TrackRecord | null {
  const { next } = state;
  if (next === null) return null;
  return state.nextHasTime && isOver(next.startSeconds, wallMs) ? null : next;
}

/** Whether a next with this time is dropped. */
export function isOver(startSeconds: number, wallMs: number): boolean {
  return wallMs >= startSeconds * 1000 + NEXT_KEPT_MS;
}

/** The last `now` that is not the fallback title: in force, or covered. Null: none, or it has run out. */
export function realNow(state: ChannelState): TrackRecord | null {
  if (state.lost) return state.covered;
  return state.now?.source === 'fallback' ? null : state.now;
}

/**
 * The moment at which the audio of the title on air begins, unix milliseconds: its `time`, if that is in the past, else its arrival, which is more
 * exact than a `time` within the same second. A title that returns begins when it does.
 * @param offsetMs how long after that its audio arrives
 */
export function placeMs({ now, onAirSinceMs }: Pick<ChannelState, 'now' | 'onAirSinceMs'>, offsetMs = 0): number {
  const { startSeconds, effectAtMs } = now!;
  if (effectAtMs < onAirSinceMs - SAME_MOMENT_MS) return onAirSinceMs;
  const saidMs = startSeconds === Math.floor(effectAtMs / 1000) ? effectAtMs : Math.round(startSeconds * 1000);
  return Math.min(saidMs, effectAtMs) + offsetMs;
}

/** How long ago a moment was, milliseconds. Negative: it is ahead, by the offset at most, as the sender's clock may be ahead. */
export function agoOf(placeMs: number, wallMs: number, offsetMs: number): number {
  return Math.max(wallMs - placeMs, Math.min(0, -offsetMs));
}

/** A change that readers do not see. */
export function changeSilently(state: ChannelState, changed: Partial<ChannelState>): Change {
  return { state: { ...state, ...changed, version: state.version + 1 }, record: null, history: [] };
}

/**
 * A track becomes `now` (while the source is lost: the title that the fallback title covers). A now with the id, or the artist and song, of
 * the next spends it, and takes over its id if none was sent; the second other now drops the next.
 * @param saidSeconds see ChannelState
 */
export function takeNow(state: ChannelState, track: Track, at: Moment, saidSeconds: number | null = null): Change {
  const next = currentNext(state, at.wallMs);
  const isNext = next !== null && !isIdSent(track) && isSameTitle(next, track);
  const sinceMs = Math.max(state.onAirSinceMs, realNow(state)?.effectAtMs ?? 0);
  const record = {
    ...(isNext ? withIdOf(track, next) : track),
    channel: at.channel,
    version: state.version + 1,
    // It identifies the play in reports.
    effectAtMs: state.now === null ? at.wallMs : instantAfter(sinceMs, at.wallMs),
  };
  const change = putNow({ ...state, ...followingNext(state, record, null, at) }, record, at);
  return { ...change, state: { ...change.state, saidSeconds } };
}

/** The same play with other fields. History updates its row; with other text it keeps both. */
export function correctNow(state: ChannelState, track: Track, at: Moment): Change {
  const now = realNow(state)!;
  const record = { ...track, channel: at.channel, version: state.version + 1, effectAtMs: now.effectAtMs };
  return putNow({ ...state, ...followingNext(state, record, now, at) }, record, at);
}

/** A past play with other fields: history updates its row, readers get nothing. */
export function correctEnded(state: ChannelState, past: PastPlay, record: TrackRecord): Change {
  const { fromMs, toMs } = past;
  const ended = state.ended!.map((one) => (one === past ? { ...past, record } : one));
  return { ...changeSilently(state, { ended }), history: [{ record, fromMs, toMs }] };
}

/** Removes the `next`. */
export function dropNext(state: ChannelState): Change {
  return changeSilently(state, { next: null, nowsSinceNext: 0, nextHasTime: false });
}

/** A track becomes `next`, without an entry in the history. */
export function takeNext(state: ChannelState, track: Track, hasTime: boolean, at: Moment): Change {
  const record = { ...track, channel: at.channel, version: state.version + 1, effectAtMs: at.wallMs };
  return { ...changeSilently(state, { next: record, nowsSinceNext: 0, nextHasTime: hasTime }), record };
}

/** A record is on air from this moment, without effect on a next. Its version is the state's plus one. */
export function putOnAir(state: ChannelState, record: TrackRecord, at: Moment): Change {
  const { now, onAirSinceMs: fromMs, saidSeconds } = state;
  const sinceMs = now === null ? at.wallMs : instantAfter(fromMs, at.wallMs);
  const history: HistoryEntry[] = [];
  let { ended } = state;
  if (now !== null && isTitle(now)) {
    const row = { record: now, fromMs, toMs: Math.max(fromMs, sinceMs) };
    history.push(row);
    if (now.source !== 'fallback' && !isSamePlay(now, record)) {
      const before = ended?.filter((one) => !isSamePlay(one.record, now)) ?? [];
      ended = [{ ...row, saidSeconds }, ...before].slice(0, MAX_ENDED);
    }
  }
  if (isTitle(record)) history.push({ record, fromMs: sinceMs, toMs: null });
  const onAir = { version: record.version, now: record, onAirSinceMs: sinceMs, ...(ended !== undefined && { ended }) };
  return { state: { ...state, ...onAir }, record, history };
}

function putNow(state: ChannelState, record: TrackRecord, at: Moment): Change {
  const { now, lost, onAirSinceMs: fromMs } = state;
  if (lost) return putCovered(state, record);
  const isOneRow =
    now !== null && isSamePlay(now, record) && isSameWords(now, record) && isTitle(now) && isTitle(record);
  if (!isOneRow) return putOnAir(state, record, at);
  const { version } = record;
  return { state: { ...state, version, now: record }, record, history: [{ record, fromMs, toMs: null }] };
}

/** The title that returns with the source. If it was on air before, history updates its row. */
function putCovered(state: ChannelState, record: TrackRecord): Change {
  const covered = { ...state, covered: record };
  const past = state.ended?.find((one) => isSamePlay(one.record, record) && isSameWords(one.record, record));
  return past === undefined ? changeSilently(covered, {}) : correctEnded(covered, past, record);
}

/** @param corrected the record that is corrected, whose correction spends no other next; null: it is another now */
function followingNext(state: ChannelState, record: TrackRecord, corrected: TrackRecord | null, at: Moment) {
  const next = currentNext(state, at.wallMs);
  const nowsSinceNext = state.nowsSinceNext + (corrected === null ? 1 : 0);
  const spends = (now: TrackRecord | null) => next !== null && now !== null && isSameTrack(next, now);
  const kept = next !== null && (!spends(record) || spends(corrected)) && nowsSinceNext < 2;
  return kept
    ? { next, nowsSinceNext, nextHasTime: state.nextHasTime }
    : { next: null, nowsSinceNext: 0, nextHasTime: false };
}

/** By its id, or by artist and song. */
export function isSameTrack(one: Track, other: Track): boolean {
  return one.id === other.id || isSameTitle(one, other);
}

/** Without words, such as a jingle and the pause before it, the content type counts. */
export function isSameTitle(one: WordsAndType, other: WordsAndType): boolean {
  return isSameWords(one, other) && (titleLine(one) !== '' || one.etype === other.etype);
}

type WordsAndType = Pick<Track, 'artist' | 'song' | 'separator' | 'etype'>;

/** A now without text and content type only ends the previous title. */
export function isTitle(record: TrackRecord): boolean {
  return titleLine(record) !== '' || record.etype !== 0;
}

/** No two titles begin in the same millisecond, so that a page of history can end between them. */
function instantAfter(sinceMs: number, wallMs: number): number {
  return wallMs <= sinceMs && sinceMs - wallMs < SAME_MOMENT_MS ? sinceMs + 1 : wallMs;
}
