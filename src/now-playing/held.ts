/**
 * Held pushes: a `now` with a `time` shortly ahead takes effect, and reaches readers, at that time (src/now-playing/README.md, "Held
 * pushes"). Pure functions; src/titles/scheduler.ts watches the clock.
 */

import { type Refusal, retryLater } from '../base/refusal.js';
import type { PushInput } from '../metadata/push-input.js';
import { isSameWords, type Track, type TrackRecord } from '../metadata/record.js';
import { changeSilently, correctNow, type Moment, realNow, takeNow } from './effect.js';
import { corrected, isOfHeld, likeness, type Meant, makeTrack, sentOf } from './repeat.js';
import type { Change, ChannelState } from './state.js';

export interface HoldRules {
  /** How far ahead a push is held, seconds; 0: never. */
  readonly holdSeconds: number;
  /** Maximum number of held pushes of a channel. */
  readonly heldPushes: number;
}

/**
 * Holds a push, in place of the one held of its play.
 * @returns the change, and the record as it will be
 * @throws Refusal too-many
 */
export function holdPush(
  state: ChannelState,
  input: PushInput & { readonly timeSeconds: number },
  at: Moment,
  rules: HoldRules,
): { readonly change: Change; readonly answer: TrackRecord } {
  const replaced = heldOf(state, input, input.timeSeconds);
  const others = state.held.filter((track) => track !== replaced);
  if (others.length >= rules.heldPushes) throw tooMany(others[0]!, at.wallMs, rules);
  const track = trackOf(replaced, input, at, input.timeSeconds);
  const later = others.findIndex(({ startSeconds }) => startSeconds > track.startSeconds);
  const change = changeSilently(state, { held: others.toSpliced(later === -1 ? others.length : later, 0, track) });
  const effectAtMs = track.startSeconds * 1000;
  return { change, answer: { ...track, channel: at.channel, version: change.state.version, effectAtMs } };
}

/** The first due held push takes effect; of several for one second only the last does. Null: none is due. */
export function takeHeld(state: ChannelState, isDue: (track: Track) => boolean, at: Moment): Change | null {
  const index = state.held.findIndex(isDue);
  if (index === -1) return null;
  const [due, after] = [state.held[index]!, state.held[index + 1]];
  const rest = { ...state, held: state.held.toSpliced(index, 1) };
  if (after !== undefined && Math.floor(after.startSeconds) === Math.floor(due.startSeconds))
    return changeSilently(rest, {});
  const now = realNow(state);
  if (now === null) return takeNow(rest, due, at);
  const sent = sentOf(due);
  const { saidSeconds } = state;
  const like = likeness(now, sent, {
    saidSeconds,
    nowSeconds: at.wallMs / 1000,
    isFarAhead: false,
    ageMs: at.ageMs(now),
  });
  if (like === 'other') return takeNow(rest, due, at);
  // Another message has begun its play.
  return like === 'equal' ? changeSilently(rest, {}) : correctNow(rest, corrected(now, sent), at);
}

/** The held push that a message refers to. @param timeSeconds the message's time, or now */
export function heldOf({ held }: ChannelState, input: Meant, timeSeconds: number): Track | undefined {
  return held.find((track) => isOfHeld(track, input, timeSeconds));
}

/** The track of a push, completed by the held push of its play, if there is one. */
export function trackOf(held: Track | undefined, input: PushInput, at: Moment, startSeconds: number): Track {
  return held !== undefined && isSameWords(held, input)
    ? { ...corrected(held, input), startSeconds }
    : makeTrack(input, input.id ?? at.newId(), startSeconds);
}

function tooMany(first: Track, wallMs: number, rules: HoldRules): Refusal {
  const seconds = Math.max(1, Math.ceil(first.startSeconds - wallMs / 1000));
  const detail = `${rules.heldPushes} pushes to this channel are already waiting for their time.`;
  return retryLater('too-many', detail, seconds);
}
