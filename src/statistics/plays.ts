/**
 * Each title that was on air, with its audience: the as-run log that a royalty report is made of, kept longer than the history that readers have.
 *
 *   on air      ├── 180 s ──┤ fallback ├─ 20 s ─┤      one play: it came back, or was corrected (same id, same moment of effect)
 *
 * A play is named by its channel and the moment at which it took effect. Stretches are counted once, whatever is said twice: a later one begins
 * behind the last. Pure.
 */

import { isDeepStrictEqual } from 'node:util';
import type { HistoryEntry } from '../now-playing/state.js';
import { putBefore } from '../store/from-ahead.js';
import { VALUE_CHARACTERS } from './figures.js';

/** As it is stored. */
export interface PlayedTitle {
  readonly id: string;
  readonly artist: string;
  readonly song: string;
  readonly album: string;
  readonly isrc: string;
  readonly etype: number;
  readonly source: string;
  /** When it came on air first, unix milliseconds. */
  readonly fromMs: number;
  /** The last stretch on air; `toMs` null: it goes on. */
  readonly sinceMs: number;
  readonly toMs: number | null;
  /** Of the stretches before, milliseconds. */
  readonly onAirMs: number;
  /** Connections that were sent any part of it. */
  readonly performances: number;
  readonly listenedMs: number;
}

/** Texts are cut at twice the length of other values. */
const TEXT_CHARACTERS = VALUE_CHARACTERS * 2;

export function playKey(entry: HistoryEntry): number {
  return entry.record.effectAtMs;
}

/** A play, and the moment that names it. */
export type NamedPlay = readonly [atMs: number, play: PlayedTitle];

/**
 * Moves plays in the future, which came while the clock was ahead, to before one that begins now (store/from-ahead.ts).
 * @returns each with its former name; also `below`, where its end was in the future too
 */
export function playsBefore(
  above: readonly NamedPlay[],
  below: NamedPlay | undefined,
  fromMs: number,
  agoMs: number,
): readonly (readonly [was: number, is: NamedPlay])[] {
  const stretchOf = ([atMs, play]: NamedPlay) => ({ fromMs: atMs, toMs: play.toMs, atMs, play });
  const placed = putBefore(above.map(stretchOf), below && stretchOf(below), fromMs, agoMs);
  const moved = placed.above.map(({ atMs, play, fromMs: isMs, toMs }) => {
    const aheadMs = atMs - isMs;
    const sinceMs = play.sinceMs - aheadMs;
    return [atMs, [isMs, { ...play, fromMs: play.fromMs - aheadMs, sinceMs, toMs }]] as const;
  });
  if (placed.below === undefined) return moved;
  const { atMs, play, toMs } = placed.below;
  const ended = { ...play, toMs: toMs === null ? null : Math.max(play.sinceMs, toMs) };
  return [[atMs, [atMs, ended]], ...moved];
}

/** @param play what is known of it; undefined: nothing @returns the same one where the entry says nothing new */
export function withEntry(play: PlayedTitle | undefined, { record, fromMs, toMs }: HistoryEntry): PlayedTitle {
  if (play !== undefined && fromMs < play.sinceMs) return play;
  const cut = (text: string) => text.slice(0, TEXT_CHARACTERS);
  const onAirMs = play === undefined ? 0 : play.onAirMs + (fromMs > play.sinceMs ? stretchMs(play, fromMs) : 0);
  const found = {
    id: cut(record.id),
    artist: cut(record.artist),
    song: cut(record.song),
    album: cut(record.album),
    isrc: cut(record.isrc),
    etype: record.etype,
    source: record.source,
    fromMs: play?.fromMs ?? fromMs,
    sinceMs: fromMs,
    toMs,
    onAirMs,
    performances: play?.performances ?? 0,
    listenedMs: play?.listenedMs ?? 0,
  };
  return play !== undefined && isDeepStrictEqual(play, found) ? play : found;
}

export function withAudience(play: PlayedTitle, performances: number, listenedMs: number): PlayedTitle {
  return { ...play, performances: play.performances + performances, listenedMs: play.listenedMs + listenedMs };
}

/** How long it was on air. @param nowMs unix milliseconds, for one that goes on */
export function playedMs(play: PlayedTitle, nowMs: number): number {
  return play.onAirMs + stretchMs(play, nowMs);
}

/** @param nextMs when it must have ended where that is not known */
function stretchMs({ sinceMs, toMs }: PlayedTitle, nextMs: number): number {
  return Math.max(0, (toMs ?? nextMs) - sinceMs);
}
