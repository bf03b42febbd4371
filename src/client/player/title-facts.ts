/** Compares titles, whichever way their records came, and computes their progress. Pure. */

import type { ChannelRecord } from '../types.js';

/** Characters of a text that are compared. */
const COMPARED = 200;
/** How much messages, playlists and clocks may differ about when a play began. */
const START_MS = 30_000;
/** Durations are rounded. */
const OVER_SECONDS = 5;

/** A correction is another title. Playlists have no straight quotes, and only the beginning of a long text. */
export function isSameTitle(a: ChannelRecord | null, b: ChannelRecord | null): boolean {
  const words = ({ artist, song }: ChannelRecord) =>
    [artist, song].map((text) => text.replaceAll('"', '”').slice(0, COMPARED)).join('\n');
  return a === b || (a !== null && b !== null && a.id === b.id && words(a) === words(b));
}

/**
 * Whether both are the same title in the same play: one that is played again is another play, though its id may be the same.
 * @param startMs when the play of `a` began: a playlist has the time on air, a record the start of the track
 */
export function isSamePlay(a: ChannelRecord, b: ChannelRecord, startMs = a.startMs): boolean {
  return isSameTitle(a, b) && Math.abs(b.startMs - startMs) < Math.max(START_MS, b.durationSeconds * 500);
}

/** Seconds, within the duration; NaN: it is over, though no other title has come. @param sinceSeconds since its start; may be negative */
export function progressOf(durationSeconds: number, sinceSeconds: number): number {
  if (sinceSeconds > durationSeconds + OVER_SECONDS) return Number.NaN;
  return Math.min(durationSeconds, Math.max(0, sinceSeconds));
}
