/**
 * What a push is to the record in force: a repeat (nothing changes), a correction (the same play in other words), or another play.
 * And how a push becomes a track. Pure functions; the rules: src/now-playing/README.md, "Repeats and corrections".
 */

import type { PushInput } from '../metadata/push-input.js';
import { DEFAULT_SEPARATOR, type Track, type TrackRecord } from '../metadata/record.js';

/** Titles are pushed a little before the one on air has ended (cross-fades): that is the next play of it, not a correction. */
const CROSSFADE_SECONDS = 10;

export type Likeness = 'equal' | 'correction' | 'other';

/** What a push is compared with beside the record. */
export interface Comparison {
  /** The time that the record was pushed with, where the moment of arrival took its place; unix seconds. */
  readonly saidSeconds: number | null;
  /** The push starts in the future. */
  readonly isAhead: boolean;
  /** For how long the record has been in force, milliseconds. */
  readonly ageMs: number;
}

/** What the push is to a record of its own type. */
export function likeness(record: TrackRecord, input: PushInput, { saidSeconds, isAhead, ageMs }: Comparison): Likeness {
  if (!takesCorrection(record, ageMs)) return 'other';
  const { timeSeconds } = input;
  const sameTime =
    timeSeconds === undefined ||
    isSameSecond(timeSeconds, record.startSeconds) ||
    isSameSecond(timeSeconds, saidSeconds);
  const sameWords = record.artist === input.artist && record.song === input.song;
  if (input.id === undefined) {
    const startSeconds = saidSeconds ?? record.startSeconds;
    if (!sameWords || (!sameTime && (isAhead || isNextPlay(record, startSeconds, timeSeconds!)))) return 'other';
  } else if (input.id !== record.id || !sameTime) return 'other';
  return sameWords && isCovered(record, input) ? 'equal' : 'correction';
}

/** Whether a push can be anything but another play: it was pushed, and has not run out. */
export function takesCorrection(record: TrackRecord, ageMs: number): boolean {
  return record.source === 'metapush' && !hasRunOut(record, ageMs);
}

/** Readers get whole seconds, and may send back what they got. */
function isSameSecond(seconds: number, other: number | null): boolean {
  return other !== null && Math.floor(seconds) === Math.floor(other);
}

/** The track with the fields that were sent; id and start stay. */
export function corrected(track: Track, input: PushInput): Track {
  const { timeSeconds: _, ...sent } = input;
  return { ...track, ...sent };
}

/** A track made of a push: what was not sent takes its default (specification, "Metadata element as sent"). */
export function makeTrack(input: PushInput, id: string, startSeconds: number): Track {
  const { timeSeconds: _, ...sent } = input;
  return { ...DEFAULTS, source: 'metapush', ...sent, id, startSeconds };
}

/** The fields of a track that were not sent. */
export const DEFAULTS = {
  separator: DEFAULT_SEPARATOR,
  durationSeconds: 0,
  etype: 0,
  isrc: '',
  cover: '',
  album: '',
  timezone: 'UTC',
  images: null,
  extdata: null,
} as const;

/** Whether the record has every value that was sent, the time apart. */
function isCovered(record: TrackRecord, input: PushInput): boolean {
  const { timeSeconds: _, ...sent } = input;
  return (Object.keys(sent) as (keyof typeof sent)[]).every((field) => sent[field] === record[field]);
}

function hasRunOut({ type, durationSeconds }: TrackRecord, ageMs: number): boolean {
  return type === 'now' && durationSeconds > 0 && ageMs >= durationSeconds * 1000;
}

/** The same title with another time: from shortly before the end of a known duration it is played once more. */
function isNextPlay(record: TrackRecord, startSeconds: number, timeSeconds: number): boolean {
  const { type, durationSeconds } = record;
  return type === 'now' && durationSeconds > 0 && timeSeconds >= startSeconds + durationSeconds - CROSSFADE_SECONDS;
}
