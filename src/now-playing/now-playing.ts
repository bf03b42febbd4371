/**
 * The state machine of one channel's now and next, as pure functions. Time and new ids are passed in, a change is returned;
 * the caller commits it before readers see it. The effect of a record is in effect.ts, held pushes in held.ts, repeats and
 * corrections in repeat.ts, the channel's own title in fallback.ts.
 *
 *   metapush now ─┐                      ┌─► now   replaced by the last one accepted
 *   encoder,      ├─► version + 1 ──────►┤
 *   upstream      │   (outranked while   └─► next  replaced by the last pushed, spent by its own now, dropped when stale
 *   metapush next ┘    a pushed now holds)
 *
 * Invariant: versions rise by one with every change; a next never becomes now by itself. The rules: src/now-playing/README.md.
 */

import type { PushInput } from '../metadata/push-input.js';
import { DEFAULT_SEPARATOR, isSameWords, type Track, type TrackRecord, titleLine } from '../metadata/record.js';
import {
  changeSilently,
  correctEnded,
  correctNow,
  currentNext,
  dropNext,
  isOver,
  isSameTitle,
  isSameTrack,
  type Moment,
  putOnAir,
  realNow,
  takeNext,
  takeNow,
} from './effect.js';
import { continuePlay, type FallbackTitle, fallbackRecord, newPlay } from './fallback.js';
import { type HoldRules, heldOf, holdPush, trackOf } from './held.js';
import {
  CLOCK_SECONDS,
  corrected,
  DEFAULTS,
  endedOf,
  hasSameText,
  isCovered,
  likeness,
  makeTrack,
  mayHaveId,
} from './repeat.js';
import type { Change, ChannelState } from './state.js';
import { holdMs, mayReplace, type TrustRules } from './trust.js';

/** A title of an encoder or upstream, as clean text (metadata/text.ts). Both parts empty: no title. */
export interface PlainTitle {
  readonly artist: string;
  readonly song: string;
  /** Between artist and song; absent: the default. */
  readonly separator?: string;
  readonly source: 'encoder' | 'upstream';
  /** The URL of an image; absent: none. */
  readonly cover?: string;
  /** As in a track; absent: as a push without them. */
  readonly album?: string;
  readonly durationSeconds?: number;
  readonly id?: string;
  readonly saidBy?: string | undefined;
  /** When the present time on air of that source began, unix milliseconds; absent: not known. */
  readonly sinceMs?: number | undefined;
}

/** The outcome of a push. */
export interface Pushed {
  /** Null: it is a repeat. */
  readonly change: Change | null;
  /** The record for the answer: in force, or to come. */
  readonly answer: TrackRecord;
  /** Its time was further ahead than pushes are held: a clock is wrong. */
  readonly isFarAhead: boolean;
}

/**
 * A push takes effect, is held for its time, or corrects or repeats a play. A now whose time is too far ahead to be held takes effect at
 * once, with its arrival as its time.
 * @throws Refusal too-many
 */
export function acceptPush(state: ChannelState, input: PushInput, at: Moment, rules: HoldRules): Pushed {
  return input.type === 'now' ? pushNow(state, input, at, rules) : pushNext(state, input, at);
}

function pushNow(state: ChannelState, input: PushInput, at: Moment, rules: HoldRules): Pushed {
  const arrivalSeconds = Math.floor(at.wallMs / 1000);
  const { timeSeconds = arrivalSeconds } = input;
  const isFarAhead = timeSeconds * 1000 > at.wallMs + rules.holdSeconds * 1000;
  const isAhead = timeSeconds * 1000 > at.wallMs && !isFarAhead;
  const now = realNow(state);
  const { saidSeconds } = state;
  const compared = { saidSeconds, nowSeconds: at.wallMs / 1000, isFarAhead, ageMs: now === null ? 0 : at.ageMs(now) };
  const like = now === null ? 'other' : likeness(now, input, compared);
  if (now !== null && like === 'equal') return { change: null, answer: now, isFarAhead };
  if (now !== null && like === 'correction') return applied(correctNow(state, corrected(now, input), at), isFarAhead);
  const past = endedOf(state.ended, input, sinceSeconds(state));
  if (past !== undefined) {
    if (isCovered(past.record, input)) return { change: null, answer: past.record, isFarAhead };
    const record = corrected(past.record, input);
    return { change: correctEnded(state, past, record), answer: record, isFarAhead };
  }
  if (isAhead) return { ...holdPush(state, { ...input, timeSeconds }, at, rules), isFarAhead };
  const isSaid = input.timeSeconds !== undefined && !isFarAhead;
  const held = heldOf(state, input, isSaid ? timeSeconds : at.wallMs / 1000);
  // A push without a time begins an announced play at the time announced.
  const announced = held !== undefined && isSameWords(held, input) ? held.startSeconds : arrivalSeconds;
  const beganSeconds = Math.abs(announced - arrivalSeconds) < CLOCK_SECONDS ? announced : arrivalSeconds;
  const track = trackOf(held, input, at, isSaid ? timeSeconds : beganSeconds);
  const others = state.held.filter((one) => one !== held && one.id !== input.id);
  return applied(takeNow({ ...state, held: others }, track, at, isFarAhead ? timeSeconds : null), isFarAhead);
}

/** The start of the title in force, unix seconds. */
function sinceSeconds({ now, onAirSinceMs }: ChannelState): number {
  return now?.startSeconds ?? onAirSinceMs / 1000;
}

function applied(change: Change, isFarAhead: boolean): Pushed {
  return { change, answer: realNow(change.state)!, isFarAhead };
}

/**
 * A next goes to readers at once, and is never held. Another time moves it. One whose time passed long ago goes to no reader; if it is
 * the next that they have, that is dropped.
 */
function pushNext(state: ChannelState, input: PushInput, at: Moment): Pushed {
  const next = currentNext(state, at.wallMs);
  const { timeSeconds } = input;
  const hasTime = timeSeconds !== undefined;
  const now = nowOfNext(state, input, at);
  const own = now ?? endedOf(state.ended, input, sinceSeconds(state))?.record;
  if (own !== undefined) {
    // Not compared by record: one that the fallback title covers is both in force and past, as one object or, after a restart, as two.
    const isNamed = now !== undefined && input.id !== undefined && input.id !== own.id;
    const change = isNamed ? correctNow(state, { ...own, id: input.id }, at) : null;
    const { effectAtMs, id, startSeconds } = own;
    const version = change?.state.version ?? state.version;
    const track = { ...makeTrack(input, input.id ?? id, startSeconds), channel: at.channel, version, effectAtMs };
    return { change, answer: track, isFarAhead: false };
  }
  if (hasTime && isOver(timeSeconds, at.wallMs)) {
    const track = makeTrack(input, input.id ?? at.newId(), timeSeconds);
    const change = next !== null && isSameTrack(next, track) ? dropNext(state) : null;
    const version = change?.state.version ?? state.version;
    const answer = { ...track, channel: at.channel, version, effectAtMs: at.wallMs };
    return { change, answer, isFarAhead: false };
  }
  const isKnown =
    next !== null &&
    mayHaveId(next, input.id) &&
    (isSameTitle(next, { ...DEFAULTS, ...input }) || isSameByIdAndTime(next, input));
  if (!isKnown) {
    const track = makeTrack(input, input.id ?? at.newId(), timeSeconds ?? Math.floor(at.wallMs / 1000));
    return nextApplied(takeNext(state, track, hasTime, at));
  }
  const isTimed = hasTime || state.nextHasTime;
  if (!isCovered(next, input) || (hasTime && timeSeconds !== next.startSeconds)) {
    const track = { ...corrected(next, input), startSeconds: timeSeconds ?? next.startSeconds };
    return nextApplied(takeNext(state, track, isTimed, at));
  }
  const isSame = state.nowsSinceNext === 0 && isTimed === state.nextHasTime;
  const change = isSame ? null : changeSilently(state, { nowsSinceNext: 0, nextHasTime: isTimed });
  return { change, answer: next, isFarAhead: false };
}

/** With other text it is the same only by its id and time. */
function isSameByIdAndTime({ id, startSeconds }: TrackRecord, input: PushInput): boolean {
  const { timeSeconds = startSeconds } = input;
  return id === input.id && Math.floor(timeSeconds) === Math.floor(startSeconds);
}

/** The play in force, if a next announces it too late. */
function nowOfNext(state: ChannelState, input: PushInput, at: Moment): TrackRecord | undefined {
  const { saidSeconds } = state;
  const now = realNow(state);
  if (now === null || !hasSameText(now, input)) return undefined;
  const ageMs = at.ageMs(now);
  const nowSeconds = at.wallMs / 1000;
  // Without a time it is late only shortly after the play began; later it announces another one.
  const isNew = input.timeSeconds !== undefined || ageMs < CLOCK_SECONDS * 1000;
  const like = likeness(now, input, { saidSeconds, nowSeconds, isFarAhead: false, ageMs });
  return isNew && like !== 'other' ? now : undefined;
}

function nextApplied(change: Change): Pushed {
  return { change, answer: change.record!, isFarAhead: false };
}

/**
 * A title of a source takes effect. Null: nothing changes, since it is in force already, a more trusted title holds (trust.ts), the source is
 * lost, or it is empty and the title in force is another source's. If another source's title has ended, one with the same text becomes its own.
 */
export function acceptTitle(state: ChannelState, title: PlainTitle, at: Moment, rules: TrustRules): Change | null {
  const { lost } = state;
  // What another program has sent for an encoder that is not connected is covered, as a push is.
  if (lost && title.saidBy !== undefined) return null;
  const now = lost ? state.covered : state.now;
  const line = lineOf(title);
  if (line === '' && (now?.source !== title.source || titleLine(now) === '')) return null;
  if (!mayReplace(now, title.source, at.ageMs, rules)) return null;
  if (now !== null && line === titleLine(now) && isStillSaid(now, title, at)) {
    if (now.source === 'metapush') return null;
    const isLate = isOtherCover(now, title);
    if (now.source === title.source && now.saidBy === title.saidBy && !isLate) return null;
    const said = asTitleOf(isLate ? { ...now, cover: title.cover! } : now, title);
    if (now.source !== title.source || isLate) return correctNow(state, said, at);
    return changeSilently(state, lost ? { covered: said } : { now: said });
  }
  const held = heldOf(state, title, at.wallMs / 1000);
  if (held !== undefined) return takeNow({ ...state, held: state.held.filter((one) => one !== held) }, held, at);
  const { saidBy: name, sinceMs, cover } = title;
  const own = name === undefined || sinceMs === undefined ? null : { name, sinceMs };
  const same = own && continuePlay(state, own, { line, cover }, at);
  if (same !== null) return same;
  // A title that it has cleared does not return with it.
  const from = line === '' && !lost ? { ...state, now: asTitleOf(now!, { ...title, saidBy: undefined }) } : state;
  return takeNow(from, playOf(title, at), at);
}

/** The play that a title begins. */
function playOf(title: PlainTitle, at: Moment): Track {
  const {
    artist,
    song,
    source,
    separator = DEFAULT_SEPARATOR,
    cover = '',
    album = '',
    durationSeconds = 0,
    id,
  } = title;
  const { madeId, ...play } = newPlay(at);
  const named = id === undefined ? { madeId } : { id };
  return asTitleOf({ ...play, ...named, artist, song, separator, cover, album, durationSeconds, source }, title);
}

/** Whether a source sends the cover of its title later, or another cover. */
function isOtherCover(now: TrackRecord, { cover = '' }: PlainTitle): boolean {
  return cover !== '' && cover !== now.cover;
}

/** The track as a title of this source. */
function asTitleOf<T extends Track>(track: T, { source, saidBy }: PlainTitle): T {
  const { saidBy: _, ...rest } = track;
  return { ...rest, source, ...(saidBy !== undefined && { saidBy }) } as T;
}

/**
 * Ends the title in force of a source that is no longer on air. Null: it is the speaker's, or no source's.
 * @param speaker the source on air @param title replaces it; null: the channel has no fallback title
 */
export function endTitle(state: ChannelState, speaker: string, title: FallbackTitle | null, at: Moment): Change | null {
  const { now, lost } = state;
  if (lost || now?.saidBy === undefined || now.saidBy === speaker || titleLine(now) === '') return null;
  if (title !== null) return putOnAir(state, fallbackRecord(state, title, at), at);
  const { saidBy: _, ...ended } = now;
  const version = state.version + 1;
  const empty = { ...newPlay(at), artist: '', song: '', separator: now.separator };
  return putOnAir(state, { ...ended, ...empty, version, effectAtMs: at.wallMs }, at);
}

/**
 * The title in the stream returns when a push's time is over, so that one stray push does not mute a live studio until its next
 * title. Null: the push still holds, or has the same text.
 */
export function returnTitle(state: ChannelState, title: PlainTitle, at: Moment, rules: TrustRules): Change | null {
  const { now, lost } = state;
  if (lost || now?.source !== 'metapush' || titleLine(now) === lineOf(title)) return null;
  const heldMs = holdMs(now, rules);
  // A push that does not hold stays until the stream has a new title.
  return heldMs > 0 && at.ageMs(now) >= heldMs ? acceptTitle(state, title, at, rules) : null;
}

/** Durations are whole seconds: a title that is sent again this close to its end is another play. */
const ROUNDED_MS = 1000;

/** Whether a title with the text of the one in force is the same play. One with a duration is another play once that is over. */
function isStillSaid(now: TrackRecord, { source, durationSeconds = 0 }: PlainTitle, { ageMs }: Moment): boolean {
  if (now.source === 'fallback') return false;
  if (now.durationSeconds === 0) return true;
  const endMs = now.durationSeconds * 1000;
  return durationSeconds > 0 ? ageMs(now) < endMs - ROUNDED_MS : now.source === source || ageMs(now) < endMs;
}

function lineOf(title: PlainTitle): string {
  return titleLine({ separator: DEFAULT_SEPARATOR, ...title });
}
