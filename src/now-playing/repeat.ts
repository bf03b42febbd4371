/**
 * Whether a message is of the play in force, of the one before it, or of one that waits: then it repeats it (nothing changes) or corrects it; else it
 * is another play. And how a push becomes a track. Pure functions; the rules: src/now-playing/README.md, "One play, several messages".
 */

import type { PushInput } from '../metadata/push-input.js';
import {
  DEFAULT_SEPARATOR,
  isIdSent,
  isSameWords,
  type Track,
  type TrackRecord,
  titleLine,
} from '../metadata/record.js';
import type { PastPlay } from './state.js';

/** Titles are pushed a little before the one on air has ended (cross-fades): that is the next play of it, not a correction. */
const CROSSFADE_SECONDS = 10;
/** So far from the start of its play a message may be, or the clock of its sender from ours. */
export const CLOCK_SECONDS = 30;

export type Likeness = 'equal' | 'correction' | 'other';

/** What says which play is meant. */
export type Meant = Pick<PushInput, 'artist' | 'song' | 'separator' | 'id' | 'timeSeconds' | 'durationSeconds'>;

/** What a push is compared with beside the record. */
export interface Comparison {
  /** The time that the record was pushed with, where the moment of arrival took its place; unix seconds. */
  readonly saidSeconds: number | null;
  /** This moment, unix seconds. */
  readonly nowSeconds: number;
  /** The time of the push is further ahead than pushes are held. */
  readonly isFarAhead: boolean;
  /** For how long the record has been in force, milliseconds. */
  readonly ageMs: number;
}

/** What the push is to the record in force. */
export function likeness(record: TrackRecord, input: PushInput, compared: Comparison): Likeness {
  if (!mayHaveId(record, input.id)) return 'other';
  const { timeSeconds } = input;
  const isSameTime =
    isSameSecond(timeSeconds, record.startSeconds) || isSameSecond(timeSeconds, compared.saidSeconds ?? undefined);
  if (isSameWords(record, input)) {
    if (!isSameTime && !isWithin(record, input, compared)) return 'other';
  } else {
    const isMeant = input.id === record.id && (isSameTime || timeSeconds === undefined);
    if (!isMeant || !takesCorrection(record, compared.ageMs)) return 'other';
  }
  return isCovered(record, input) ? 'equal' : 'correction';
}

/** Whether a push with its id corrects it in any words: it was pushed, and has not run out. */
export function takesCorrection(record: TrackRecord, ageMs: number): boolean {
  return record.source === 'metapush' && !hasRunOut(record.durationSeconds, ageMs);
}

/**
 * The play that is over of which a message speaks. Only one whose time says so: without, the last push wins. @param sinceSeconds the start of what is
 * in force
 */
export function lateOf(ended: readonly PastPlay[] = [], input: Meant, sinceSeconds: number): PastPlay | undefined {
  return ended.find((past, i) => isLate(past, input, i === 0 ? sinceSeconds : ended[i - 1]!.record.startSeconds));
}

/** @param sinceSeconds the start of what came behind it */
function isLate({ record, saidSeconds }: PastPlay, input: Meant, sinceSeconds: number): boolean {
  const { timeSeconds } = input;
  if (timeSeconds === undefined || !mayHaveId(record, input.id) || !isNamedAs(record, input)) return false;
  if (isSameSecond(timeSeconds, saidSeconds ?? undefined)) return true;
  return timeSeconds < sinceSeconds && Math.abs(timeSeconds - record.startSeconds) < CLOCK_SECONDS;
}

/** Whether a message speaks of one that waits. @param timeSeconds its time, or this moment */
export function isOfHeld(track: Track, input: Meant, timeSeconds: number): boolean {
  if (input.id !== undefined && isIdSent(track)) return track.id === input.id;
  const most = lastsSeconds(track.durationSeconds || input.durationSeconds || 0);
  return isNamedAs(track, input) && Math.abs(timeSeconds - track.startSeconds) < Math.min(CLOCK_SECONDS, most);
}

/** Whether both have the same words; where there are none, they say nothing of the play. */
export function isNamedAs(track: Track, input: Meant): boolean {
  return titleLine(track) !== '' && isSameWords(track, input);
}

/** Two ids that were sent are of two plays; what has one and what has none may be one. */
export function mayHaveId(track: Track, id: string | undefined): boolean {
  return id === undefined || id === track.id || !isIdSent(track);
}

/** Whether a message with the words of the record comes within its play, by its time or, without one, by ours. */
function isWithin(record: TrackRecord, input: Meant, { saidSeconds, nowSeconds, isFarAhead, ageMs }: Comparison) {
  const duration = record.durationSeconds || input.durationSeconds || 0;
  if (hasRunOut(duration, ageMs)) return false;
  const { timeSeconds } = input;
  if (timeSeconds === undefined) return true;
  // An id that comes later is of this play only where the time is near.
  if (input.id !== undefined && input.id !== record.id && timeSeconds <= record.startSeconds - CLOCK_SECONDS)
    return false;
  const lasts = lastsSeconds(duration);
  if (isFarAhead) return (saidSeconds === null ? nowSeconds - record.startSeconds : timeSeconds - saidSeconds) < lasts;
  // Where no end is known, a sender may have said that it began long ago.
  const beganSeconds = duration > 0 ? record.startSeconds : Math.max(record.startSeconds, nowSeconds - ageMs / 1000);
  return timeSeconds < nowSeconds + CLOCK_SECONDS && timeSeconds - beganSeconds < lasts;
}

/** How much later than its start a play of the same title is the next one. */
function lastsSeconds(durationSeconds: number): number {
  return durationSeconds > 0 ? durationSeconds - Math.min(CROSSFADE_SECONDS, durationSeconds / 2) : CLOCK_SECONDS;
}

function hasRunOut(durationSeconds: number, ageMs: number): boolean {
  return durationSeconds > 0 && ageMs >= durationSeconds * 1000;
}

/** Readers get whole seconds, and may send back what they got. */
function isSameSecond(one: number | undefined, other: number | undefined): boolean {
  return one !== undefined && other !== undefined && Math.floor(one) === Math.floor(other);
}

/** The track with the fields that were sent; what names the play, and its start, stay. */
export function corrected<T extends Track>(track: T, input: PushInput): T {
  const { timeSeconds: _, ...sent } = input;
  const { saidBy: __, ...known } = track;
  return { ...known, ...sent, source: 'metapush' } as T;
}

/**
 * A track made of a push: what was not sent takes its default (specification, "Metadata element as sent").
 * @param id the push's, or one that is made here
 */
export function makeTrack(input: PushInput, id: string, startSeconds: number): Track {
  const { timeSeconds: _, ...sent } = input;
  const made = input.id === undefined && { madeId: id };
  return { ...DEFAULTS, source: 'metapush', ...sent, ...made, id, startSeconds };
}

/** A held push as it was sent, but for what is as if it had not been. */
export function sentOf(track: Track): PushInput {
  const { source: _, madeId: __, startSeconds, id, ...fields } = track;
  const said = Object.entries(fields).filter(
    ([name, value]) => value !== (DEFAULTS as Readonly<Record<string, unknown>>)[name],
  );
  return { ...Object.fromEntries(said), ...(isIdSent(track) && { id }), timeSeconds: startSeconds } as PushInput;
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
export function isCovered(record: TrackRecord, input: PushInput): boolean {
  const { timeSeconds: _, ...sent } = input;
  return (
    record.source === 'metapush' &&
    (Object.keys(sent) as (keyof typeof sent)[]).every((field) => sent[field] === record[field])
  );
}
