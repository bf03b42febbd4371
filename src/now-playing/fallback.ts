/**
 * The channel's own title when there is no better one: after the duration of the title on air, and, if so configured,
 * while its first source is not on air (src/now-playing/README.md, "Fallback title"). Pure functions; src/titles/scheduler.ts watches
 * clock and sources.
 *
 *   lost:  now ──► covered, the fallback title becomes now; pushes go to covered     found:  covered ──► now
 */

import { type TrackRecord, titleLine } from '../metadata/record.js';
import { changeSilently, type Moment, putOnAir, realNow } from './effect.js';
import { DEFAULTS, hasRunOut } from './repeat.js';
import type { Change, ChannelState } from './state.js';

/** The longest pause of a source after which its title returns. */
export const RETURNS_MS = 600_000;

/** Clean text (metadata/text.ts). */
export interface FallbackTitle {
  readonly artist: string;
  readonly song: string;
}

export interface FallbackRules {
  readonly title: FallbackTitle;
  /** How much longer than its duration a title stays. */
  readonly graceSeconds: number;
  readonly whenSourceLost: boolean;
}

/** The title that took effect at `effectAtMs` has run out. Null: another is in force. */
export function runOut(state: ChannelState, effectAtMs: number, title: FallbackTitle, at: Moment): Change | null {
  if (realNow(state)?.effectAtMs !== effectAtMs) return null;
  return state.lost ? changeSilently(state, { covered: null }) : putOnAir(state, fallbackRecord(state, title, at), at);
}

/** Updates a fallback title in force to the configured one; not one that stands for a source (first-title.ts). Null: no change. */
export function reword(state: ChannelState, title: FallbackTitle, at: Moment): Change | null {
  const { now } = state;
  if (now?.source !== 'fallback' || now.saidBy !== undefined) return null;
  if (now.artist === title.artist && now.song === title.song) return null;
  return putOnAir(state, fallbackRecord(state, title, at), at);
}

/** The channel's own source is off air. Null: known already. */
export function sourceLost(state: ChannelState, title: FallbackTitle, at: Moment): Change | null {
  if (state.lost) return null;
  const lost = { lost: true, covered: realNow(state) };
  if (state.now?.source === 'fallback' && state.now.saidBy === undefined) return changeSilently(state, lost);
  return putOnAir({ ...state, ...lost }, fallbackRecord(state, title, at), at);
}

/**
 * It is on air again: the last real title returns, unless it has run out or is another source's (then the fallback title stays).
 * @param speaker the source on air; undefined: unknown @returns null: it was not lost
 */
export function sourceFound(state: ChannelState, at: Moment, speaker?: string): Change | null {
  if (!state.lost) return null;
  const { covered } = state;
  if (covered === null || !mayReturn(state, covered, at, speaker))
    return changeSilently(state, { lost: false, covered: null });
  return putOnAir({ ...state, lost: false, covered: null }, { ...covered, version: state.version + 1 }, at);
}

/** A title that no source has sent returns within its duration, without a duration after a short pause only. */
function mayReturn(
  { onAirSinceMs }: ChannelState,
  covered: TrackRecord,
  { wallMs }: Moment,
  speaker?: string,
): boolean {
  const { saidBy, durationSeconds, effectAtMs } = covered;
  if (saidBy !== undefined) return saidBy === speaker;
  return durationSeconds > 0 || wallMs - Math.max(onAirSinceMs, effectAtMs) <= RETURNS_MS;
}

/** A source on air: its name, and when its present time on air began, unix milliseconds. */
export interface SpeakerSince {
  readonly name: string;
  readonly sinceMs: number;
}

/**
 * A source is on air again after another one: its last title returns, until it sends another. Null: it has sent one since; the title in force is a
 * push, or newer; or its own is no longer among the last plays.
 */
export function bringBack(state: ChannelState, speaker: SpeakerSince, at: Moment): Change | null {
  const { now, lost, ended = [] } = state;
  if (lost || now === null || now.saidBy === speaker.name || now.effectAtMs > speaker.sinceMs) return null;
  const isEnded = now.source !== 'metapush' && titleLine(now) === '';
  if (now.saidBy === undefined && now.source !== 'fallback' && !isEnded) return null;
  // After a push, or a title of another program, it is out of date.
  const past = ended.find(({ record }) => record.saidBy === undefined || record.saidBy === speaker.name)?.record;
  return past?.saidBy === undefined ? null : putBack(state, past, at);
}

/**
 * The same where its stream sends that title again, or still, once the source or the push between is over. Null: another play begins with it.
 * @param cover the URL of an image; "": none
 */
export function continuePlay(
  state: ChannelState,
  speaker: SpeakerSince,
  { line, cover = '' }: { readonly line: string; readonly cover?: string | undefined },
  at: Moment,
): Change | null {
  const { now, lost, ended = [] } = state;
  const isOver =
    now?.source === 'metapush' || (now?.saidBy !== speaker.name && (now?.effectAtMs ?? 0) <= speaker.sinceMs);
  const past = ended.find(({ record }) => record.saidBy === speaker.name);
  if (lost || !isOver || line === '' || past === undefined || titleLine(past.record) !== line) return null;
  if (at.wallMs - past.toMs > RETURNS_MS) return null;
  return putBack(state, cover === '' ? past.record : { ...past.record, cover }, at);
}

function putBack(state: ChannelState, past: TrackRecord, at: Moment): Change | null {
  if (hasRunOut(past.durationSeconds, at.wallMs - past.effectAtMs)) return null;
  return putOnAir(state, { ...past, version: state.version + 1 }, at);
}

export function fallbackRecord(state: ChannelState, title: FallbackTitle, at: Moment): TrackRecord {
  const { channel, wallMs } = at;
  return { ...newPlay(at), ...title, source: 'fallback', channel, version: state.version + 1, effectAtMs: wallMs };
}

/** The fields of a `now` that was not pushed and begins at this moment, with an id made here. */
export function newPlay({ newId, wallMs }: Moment) {
  const id = newId();
  return { ...DEFAULTS, id, madeId: id, type: 'now' as const, startSeconds: Math.floor(wallMs / 1000) };
}
