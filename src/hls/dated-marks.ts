/**
 * The titles of a channel's tape with the dates that its playlist states, for listeners whose position is a date. Titles that the playlist does not
 * state (_keep_, a text in `icy.etypes`) have the date of their place too.
 *
 *   tape       A ── B ───── C         marks, by audio time       date: as listed, or of the place in its segment
 *   playlist   A ── B ── end          C has no date yet
 */

import type { AudioTape } from '../audio/tape/audio-tape.js';
import type { Mark } from '../audio/tape/mark.js';
import { idOf } from './hls-title.js';
import type { HlsSegment } from './playlist.js';
import type { HlsWindow } from './window.js';

export interface DatedMark {
  readonly mark: Mark;
  /** PROGRAM-DATE-TIME of its place, Unix milliseconds; -∞ if it is before all kept segments. */
  readonly dateMs: number;
}

/** Summed frame durations differ from the tape's times by less. */
const TOLERANCE_MS = 0.5;

/** Returns the tape's marks in order, up to the end of the list. @param name the tape's name, as in CutPlace */
export function datedMarks(tape: AudioTape, name: string, window: HlsWindow): DatedMark[] {
  const segments = window.segmentsFrom(0);
  const dated: DatedMark[] = [];
  const add = (mark: Mark, atMs: number): boolean => {
    const dateMs = window.titleOf(idOf(mark.view.record))?.startMs ?? dateOf(segments, name, atMs);
    if (dateMs >= window.endMs) return false;
    // A late title is in all segments that were closed by then.
    if (dated.at(-1)?.mark !== mark) dated.push({ mark, dateMs });
    return true;
  };
  const before = tape.at(tape.tail)?.before ?? null;
  if (before !== null && !add(before, Number.NEGATIVE_INFINITY)) return dated;
  for (let seq = tape.tail; seq < tape.head; seq++) {
    for (const { mark, atMs } of tape.at(seq)!.marks) if (!add(mark, atMs)) return dated;
  }
  return dated;
}

/** Returns the date of a place on the tape, Unix milliseconds; -∞ before all kept segments, +∞ if it is not cut yet. */
function dateOf(segments: readonly HlsSegment[], name: string, atMs: number): number {
  let isKnown = false;
  for (let i = segments.length - 1; i >= 0; i--) {
    const { end, startMs, micros } = segments[i]!;
    if (end?.tape !== name) continue;
    isKnown = true;
    const behindMs = atMs - end.atMs;
    const next = segments[i + 1];
    if (behindMs >= -TOLERANCE_MS) return next === undefined ? Number.POSITIVE_INFINITY : next.startMs + behindMs;
    const insideMs = behindMs + micros / 1000;
    if (insideMs >= -TOLERANCE_MS) return startMs + insideMs;
  }
  return isKnown ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}
