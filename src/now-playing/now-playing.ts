/**
 * What is on air and what follows: the state machine of one channel, as pure functions. Time and new ids are passed in, a
 * change is returned; the caller commits it before readers see it. What a record does when it takes effect is in effect.ts,
 * what waits for its time in held.ts, what repeats or corrects in repeat.ts, the channel's own title in fallback.ts.
 *
 *   metapush now ─┐                      ┌─► now   replaced by the last one accepted
 *   encoder,      ├─► version + 1 ──────►┤
 *   upstream      │   (outranked while   └─► next  replaced by the last pushed, spent by its own now, dropped when stale
 *   metapush next ┘    a pushed now holds)
 *
 * Invariant: versions rise by one with every change; a next never becomes now by itself. The rules: src/now-playing/README.md.
 */

import type { PushInput } from '../metadata/push-input.js';
import { DEFAULT_SEPARATOR, type Track, type TrackRecord, titleLine } from '../metadata/record.js';
import {
  changeSilently,
  correctNow,
  currentNext,
  dropNext,
  isOver,
  isSameTrack,
  type Moment,
  realNow,
  takeNext,
  takeNow,
} from './effect.js';
import { type HoldRules, holdPush } from './held.js';
import { corrected, DEFAULTS, likeness, makeTrack } from './repeat.js';
import type { Change, ChannelState } from './state.js';
import { holdMs, mayReplace, type TrustRules } from './trust.js';

/** A title as encoders and upstreams send it; clean (metadata/text.ts). Both parts empty: it clears. */
export interface PlainTitle {
  readonly artist: string;
  readonly song: string;
  /** What stood between artist and song; absent: the default. */
  readonly separator?: string;
  readonly source: 'encoder' | 'upstream';
  /** The URL of an image; absent: none. */
  readonly cover?: string;
}

/** What becomes of a push. */
export interface Pushed {
  /** Null: it is a repeat. */
  readonly change: Change | null;
  /** The record for the answer: the one in force, or the one that will be. */
  readonly answer: TrackRecord;
  /** Its time was further ahead than pushes are held: the sender's clock is wrong, or ours. */
  readonly isFarAhead: boolean;
}

/**
 * A push: it takes effect, is held for its time, corrects what is in force, or repeats it. A now whose time is further ahead than
 * that is applied at once and carries the moment of arrival.
 * @throws Refusal too-many
 */
export function acceptPush(state: ChannelState, input: PushInput, at: Moment, rules: HoldRules): Pushed {
  return input.type === 'now' ? pushNow(state, input, at, rules) : pushNext(state, input, at);
}

function pushNow(state: ChannelState, input: PushInput, at: Moment, rules: HoldRules): Pushed {
  const arrivalSeconds = Math.floor(at.wallMs / 1000);
  const { timeSeconds = arrivalSeconds } = input;
  const isFarAhead = timeSeconds > arrivalSeconds + rules.holdSeconds;
  const isAhead = timeSeconds * 1000 > at.wallMs && !isFarAhead;
  const now = realNow(state);
  const { saidSeconds } = state;
  const like = now === null ? 'other' : likeness(now, input, { saidSeconds, isAhead, ageMs: at.ageMs(now) });
  if (now !== null && like === 'equal') return { change: null, answer: now, isFarAhead };
  if (now !== null && like === 'correction') return applied(correctNow(state, corrected(now, input), at), isFarAhead);
  if (isAhead) return { ...holdPush(state, { ...input, timeSeconds }, at, rules), isFarAhead };
  const held = state.held.filter(({ id }) => id !== input.id);
  const track = makeTrack(input, input.id ?? at.newId(), isFarAhead ? arrivalSeconds : timeSeconds);
  return applied(takeNow({ ...state, held }, track, at, isFarAhead ? timeSeconds : null), isFarAhead);
}

function applied(change: Change, isFarAhead: boolean): Pushed {
  return { change, answer: realNow(change.state)!, isFarAhead };
}

/**
 * A next goes to readers at once, and is never held. It has not begun: a time that is sent moves it. One whose start has long passed goes to no
 * reader; where it is the next that they have, that one is dropped.
 */
function pushNext(state: ChannelState, input: PushInput, at: Moment): Pushed {
  const next = currentNext(state, at.wallMs);
  const like = next === null ? 'other' : likeness(next, input, { saidSeconds: null, isAhead: false, ageMs: 0 });
  const { timeSeconds } = input;
  const hasTime = timeSeconds !== undefined;
  if (hasTime && isOver(timeSeconds, at.wallMs)) {
    const track = makeTrack(input, input.id ?? at.newId(), timeSeconds);
    const change = next !== null && isSameTrack(next, track) ? dropNext(state) : null;
    const version = change?.state.version ?? state.version;
    const answer = { ...track, channel: at.channel, version, effectAtMs: at.wallMs };
    return { change, answer, isFarAhead: false };
  }
  if (next === null || like === 'other') {
    const track = makeTrack(input, input.id ?? at.newId(), timeSeconds ?? Math.floor(at.wallMs / 1000));
    return nextApplied(takeNext(state, track, hasTime, at));
  }
  const isTimed = hasTime || state.nextHasTime;
  if (like === 'correction' || (hasTime && timeSeconds !== next.startSeconds)) {
    const track = { ...corrected(next, input), startSeconds: timeSeconds ?? next.startSeconds };
    return nextApplied(takeNext(state, track, isTimed, at));
  }
  const isSame = state.nowsSinceNext === 0 && isTimed === state.nextHasTime;
  const change = isSame ? null : changeSilently(state, { nowsSinceNext: 0, nextHasTime: isTimed });
  return { change, answer: next, isFarAhead: false };
}

function nextApplied(change: Change): Pushed {
  return { change, answer: change.record!, isFarAhead: false };
}

/**
 * A title from the stream itself takes effect, or null: nothing changes. That is so when it is in force already, while one that is
 * trusted more holds (trust.ts), while the source is lost, and when an empty title comes from another source than the title in force.
 */
export function acceptTitle(state: ChannelState, title: PlainTitle, at: Moment, rules: TrustRules): Change | null {
  const { now, lost } = state;
  if (lost) return null;
  const line = lineOf(title);
  const said = now?.source === title.source ? titleLine(now) : '';
  if (line === said || !mayReplace(now, title.source, at.ageMs, rules)) return null;
  const track: Track = {
    ...DEFAULTS,
    id: at.newId(),
    type: 'now',
    artist: title.artist,
    song: title.song,
    separator: title.separator ?? DEFAULT_SEPARATOR,
    cover: title.cover ?? '',
    source: title.source,
    startSeconds: Math.floor(at.wallMs / 1000),
  };
  return takeNow(state, track, at);
}

/**
 * The title that stands in the stream returns when a push has kept it out for long enough, so that one stray push does not mute a
 * live studio until its next title. Null: the push still holds, or has the same words, which then stay or run out like any other's.
 */
export function returnTitle(state: ChannelState, title: PlainTitle, at: Moment, rules: TrustRules): Change | null {
  const { now, lost } = state;
  if (lost || now?.source !== 'metapush' || titleLine(now) === lineOf(title)) return null;
  const heldMs = holdMs(now, rules);
  // A push that does not hold stays until the stream has a new title.
  return heldMs > 0 && at.ageMs(now) >= heldMs ? acceptTitle(state, title, at, rules) : null;
}

function lineOf(title: PlainTitle): string {
  return titleLine({ separator: DEFAULT_SEPARATOR, ...title });
}
