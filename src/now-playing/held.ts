/**
 * Pushes that wait for their time: a `now` with a `time` shortly ahead takes effect at that moment, and no reader gets it before
 * (src/now-playing/README.md, "Held pushes"). Pure functions; src/titles/scheduler.ts watches the clock.
 */

import { type Refusal, retryLater } from '../base/refusal.js';
import type { PushInput } from '../metadata/push-input.js';
import type { Track, TrackRecord } from '../metadata/record.js';
import { changeSilently, type Moment, takeNow } from './effect.js';
import { makeTrack } from './repeat.js';
import type { Change, ChannelState } from './state.js';

export interface HoldRules {
  /** How far ahead a push is held, seconds; 0: never. */
  readonly holdSeconds: number;
  /** How many of a channel are held at most. */
  readonly heldPushes: number;
}

/**
 * Holds a push, in place of the one held with its id (or, without one, with its time, artist and song).
 * @returns the change, and the record as it will be
 * @throws Refusal too-many
 */
export function holdPush(
  state: ChannelState,
  input: PushInput & { readonly timeSeconds: number },
  at: Moment,
  rules: HoldRules,
): { readonly change: Change; readonly answer: TrackRecord } {
  const replaced = state.held.find((track) => isRepush(track, input));
  const others = state.held.filter((track) => track !== replaced);
  if (others.length >= rules.heldPushes) throw tooMany(others[0]!, at.wallMs, rules);
  const track = makeTrack(input, input.id ?? replaced?.id ?? at.newId(), input.timeSeconds);
  const later = others.findIndex(({ startSeconds }) => startSeconds > track.startSeconds);
  const change = changeSilently(state, { held: others.toSpliced(later === -1 ? others.length : later, 0, track) });
  const effectAtMs = track.startSeconds * 1000;
  return { change, answer: { ...track, channel: at.channel, version: change.state.version, effectAtMs } };
}

/** The first held push that is due takes effect, or null: none is. */
export function takeHeld(state: ChannelState, isDue: (track: Track) => boolean, at: Moment): Change | null {
  const due = state.held.find(isDue);
  return due === undefined ? null : takeNow({ ...state, held: state.held.filter((track) => track !== due) }, due, at);
}

function isRepush(track: Track, input: PushInput): boolean {
  if (input.id !== undefined) return track.id === input.id;
  return track.startSeconds === input.timeSeconds && track.artist === input.artist && track.song === input.song;
}

function tooMany(first: Track, wallMs: number, rules: HoldRules): Refusal {
  const seconds = Math.max(1, Math.ceil(first.startSeconds - wallMs / 1000));
  const detail = `${rules.heldPushes} pushes of this channel wait for their time already.`;
  return retryLater('too-many', detail, seconds);
}
