/** Of titles: whether two records are of one, however each of them came here, and how far one is. Pure. */

import type { ChannelRecord } from '../types.js';

/** Characters of a text that are compared. */
const COMPARED = 200;
/** By which messages, playlists and clocks may differ about when a play began. */
const START_MS = 30_000;
/** Durations are rounded. */
const OVER_SECONDS = 5;

/** A correction is another title. A playlist has no straight quotes, and of a long text its beginning. */
export function isSameTitle(a: ChannelRecord | null, b: ChannelRecord | null): boolean {
  const words = ({ artist, song }: ChannelRecord) =>
    [artist, song].map((text) => text.replaceAll('"', '”').slice(0, COMPARED)).join('\n');
  return a === b || (a !== null && b !== null && a.id === b.id && words(a) === words(b));
}

/**
 * Whether they are of one play, too: a title that is played again is another one, though its id may be the same.
 * @param startMs when the first one began; a playlist says when it went on air, a record its start
 */
export function isSamePlay(a: ChannelRecord, b: ChannelRecord, startMs = a.startMs): boolean {
  return isSameTitle(a, b) && Math.abs(b.startMs - startMs) < Math.max(START_MS, b.durationSeconds * 500);
}

/** Seconds, within the duration; NaN: it is over, and nothing else has come. @param sinceSeconds its start; may be less than 0 */
export function progressOf(durationSeconds: number, sinceSeconds: number): number {
  if (sinceSeconds > durationSeconds + OVER_SECONDS) return Number.NaN;
  return Math.min(durationSeconds, Math.max(0, sinceSeconds));
}
