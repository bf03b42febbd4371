/**
 * Whether a message belongs to the play in force, a past or a held one, which it then repeats or corrects, or is another play. Also turns pushes
 * into tracks. Pure functions; the rules: src/now-playing/README.md, "One play, several messages".
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

/** Titles may be pushed this long before the previous one ends: the same title is then the next play, not a correction. */
const CROSSFADE_SECONDS = 10;
/** How far a message may be from the start of its play, or the sender's clock from ours. */
export const CLOCK_SECONDS = 30;

export type Likeness = 'equal' | 'correction' | 'other';

/** The fields that identify a play. */
export type Meant = Pick<PushInput, 'artist' | 'song' | 'separator' | 'id' | 'timeSeconds' | 'durationSeconds'>;

/** What a push is compared with besides the record. */
export interface Comparison {
  /** The time with which the record was pushed, if its arrival replaced it; unix seconds. */
  readonly saidSeconds: number | null;
  /** Now, unix seconds. */
  readonly nowSeconds: number;
  /** The time of the push is further ahead than pushes are held. */
  readonly isFarAhead: boolean;
  /** How long the record has been in force, milliseconds. */
  readonly ageMs: number;
}

/** How a push relates to the record in force. */
export function likeness(record: TrackRecord, input: PushInput, compared: Comparison): Likeness {
  if (!mayHaveId(record, input.id)) return 'other';
  const { timeSeconds } = input;
  const isSameTime =
    isSameSecond(timeSeconds, record.startSeconds) || isSameSecond(timeSeconds, compared.saidSeconds ?? undefined);
  if (isSameWords(record, input)) {
    if (!isSameTime && !isWithinPlay(record, input, compared)) return 'other';
    if (isAnotherWordless(record, input, isSameTime)) return 'other';
  } else {
    // A play that has run out is not corrected: a sender whose id never changes has begun its next play.
    const isTimeless = timeSeconds === undefined && !hasRunOut(input.durationSeconds ?? 0, compared.ageMs);
    const isMeant = input.id === record.id && (isSameTime || isTimeless);
    if (!isMeant || !takesCorrection(record, compared.ageMs)) return 'other';
  }
  return isCovered(record, input) ? 'equal' : 'correction';
}

/** An empty title names no play: without its id only the very same message is a repeat, not the next jingle or spot without words. */
function isAnotherWordless(record: TrackRecord, input: PushInput, isSameTime: boolean): boolean {
  if (titleLine(record) !== '' || input.id === record.id) return false;
  if (input.timeSeconds !== undefined && !isSameTime && record.etype !== DEFAULTS.etype) return true;
  return (input.etype ?? DEFAULTS.etype) !== record.etype || !isCovered(record, input);
}

/** Whether a push with its id corrects it whatever its text: it was pushed, and has not run out. */
export function takesCorrection(record: TrackRecord, ageMs: number): boolean {
  return record.source === 'metapush' && !hasRunOut(record.durationSeconds, ageMs);
}

/** The past play that a message with a time refers to. @param sinceSeconds the start of the title in force */
export function endedOf(ended: readonly PastPlay[] = [], input: Meant, sinceSeconds: number): PastPlay | undefined {
  return ended.find((past, i) => isLate(past, input, i === 0 ? sinceSeconds : ended[i - 1]!.record.startSeconds));
}

/** @param sinceSeconds the start of the play after it */
function isLate({ record, saidSeconds }: PastPlay, input: Meant, sinceSeconds: number): boolean {
  const { timeSeconds } = input;
  if (timeSeconds === undefined || !mayHaveId(record, input.id) || !hasSameText(record, input)) return false;
  if (isSameSecond(timeSeconds, saidSeconds ?? undefined)) return true;
  return timeSeconds < sinceSeconds && Math.abs(timeSeconds - record.startSeconds) < CLOCK_SECONDS;
}

/** Whether a message refers to a held push. @param timeSeconds the message's time, or now */
export function isOfHeld(track: Track, input: Meant, timeSeconds: number): boolean {
  if (input.id !== undefined && isIdSent(track)) return track.id === input.id;
  const lasts = lastsSeconds(track.durationSeconds || input.durationSeconds || 0);
  return hasSameText(track, input) && Math.abs(timeSeconds - track.startSeconds) < Math.min(CLOCK_SECONDS, lasts);
}

/** Whether both have the same text, which must not be empty to identify a play. */
export function hasSameText(track: Track, input: Meant): boolean {
  return titleLine(track) !== '' && isSameWords(track, input);
}

/** Two different ids that were sent mean two plays; with an id on one side only it may be one. */
export function mayHaveId(track: Track, id: string | undefined): boolean {
  return id === undefined || id === track.id || !isIdSent(track);
}

/** Whether a message with the record's text is within its play, by the message's time, or else by our clock. */
function isWithinPlay(record: TrackRecord, input: Meant, { saidSeconds, nowSeconds, isFarAhead, ageMs }: Comparison) {
  const duration = record.durationSeconds || input.durationSeconds || 0;
  if (hasRunOut(duration, ageMs)) return false;
  const { timeSeconds } = input;
  if (timeSeconds === undefined) return true;
  // A new id belongs to this play only if the time is near.
  if (input.id !== undefined && input.id !== record.id && timeSeconds <= record.startSeconds - CLOCK_SECONDS)
    return false;
  const lasts = lastsSeconds(duration);
  if (isFarAhead) return (saidSeconds === null ? nowSeconds - record.startSeconds : timeSeconds - saidSeconds) < lasts;
  // Without a known end, the sender may have set a start long ago.
  const beganSeconds = duration > 0 ? record.startSeconds : Math.max(record.startSeconds, nowSeconds - ageMs / 1000);
  return timeSeconds < nowSeconds + CLOCK_SECONDS && timeSeconds - beganSeconds < lasts;
}

/** How long after its start the same title is another play. */
function lastsSeconds(durationSeconds: number): number {
  return durationSeconds > 0 ? durationSeconds - Math.min(CROSSFADE_SECONDS, durationSeconds / 2) : CLOCK_SECONDS;
}

/** Whether its duration is over. */
export function hasRunOut(durationSeconds: number, ageMs: number): boolean {
  return durationSeconds > 0 && ageMs >= durationSeconds * 1000;
}

/** Readers get whole seconds, and may push them back. */
function isSameSecond(one: number | undefined, other: number | undefined): boolean {
  return one !== undefined && other !== undefined && Math.floor(one) === Math.floor(other);
}

/** The track with the fields that were sent; its identity and start stay. */
export function corrected<T extends Track>(track: T, input: PushInput): T {
  const { timeSeconds: _, ...sent } = input;
  const { saidBy: __, ...known } = track;
  return { ...known, ...sent, source: 'metapush' } as T;
}

/**
 * The track of a push, with defaults for fields that were not sent (specification, "Metadata element as sent").
 * @param id the push's, or one made here
 */
export function makeTrack(input: PushInput, id: string, startSeconds: number): Track {
  const { timeSeconds: _, ...sent } = input;
  const made = input.id === undefined && { madeId: id };
  return { ...DEFAULTS, source: 'metapush', ...sent, ...made, id, startSeconds };
}

/** A held push as it was sent, without fields that have their default. */
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

/** Whether the record has every value that was sent, except the time. */
export function isCovered(record: TrackRecord, input: PushInput): boolean {
  const { timeSeconds: _, ...sent } = input;
  return (
    record.source === 'metapush' &&
    (Object.keys(sent) as (keyof typeof sent)[]).every((field) => sent[field] === record[field])
  );
}
