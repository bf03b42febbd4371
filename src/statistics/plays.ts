/**
 * Each title that was on air, with its audience: the as-run log for royalty reports, kept longer than the history for readers.
 *
 *   on air      ├── 180 s ──┤ fallback ├─ 20 s ─┤      one play: it came back, or was corrected (same id, same moment of effect)
 *
 * A play is identified by its channel and the moment at which it took effect. A stretch on air is counted once, however often it is reported. Pure.
 */

import { isDeepStrictEqual } from 'node:util';
import type { HistoryEntry } from '../now-playing/state.js';
import { putBefore } from '../store/from-ahead.js';
import { VALUE_CHARACTERS } from './figures.js';

export interface PlayedTitle {
  readonly id: string;
  readonly artist: string;
  readonly song: string;
  readonly album: string;
  readonly isrc: string;
  readonly etype: number;
  readonly source: string;
  /** When it was on air first, unix milliseconds. */
  readonly fromMs: number;
  /** The last stretch on air; `toMs` null: still on air. */
  readonly sinceMs: number;
  readonly toMs: number | null;
  /** The sum of earlier stretches, milliseconds. */
  readonly onAirMs: number;
  /** Connections that were sent any part of it. */
  readonly performances: number;
  readonly listenedMs: number;
}

/** Jingle, promo, advertisement, news, article. */
const NOT_MUSIC: ReadonlySet<number> = new Set([101, 102, 103, 104, 105]);
/** Texts are cut at twice the length of values. */
const TEXT_CHARACTERS = VALUE_CHARACTERS * 2;

export function playKey(entry: HistoryEntry): number {
  return entry.record.effectAtMs;
}

/** A play with the moment that identifies it. */
export type NamedPlay = readonly [atMs: number, play: PlayedTitle];

/**
 * Moves plays in the future, recorded while the clock was ahead, before one that begins now (store/from-ahead.ts).
 * @returns each with its former key; also `below` if its end was in the future too
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

/** Updates a play from the history. @param play undefined: new @returns `play` itself if nothing has changed */
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

/** Whether it was a recording of music, as far as is known: a fallback title names the station. */
export function isRecording({ song, etype, source }: PlayedTitle): boolean {
  return song !== '' && source !== 'fallback' && !NOT_MUSIC.has(etype);
}

/** How long it was on air. @param nowMs unix milliseconds, if it still is */
export function playedMs(play: PlayedTitle, nowMs: number): number {
  return play.onAirMs + stretchMs(play, nowMs);
}

/** @param nextMs its end at the latest, if `toMs` is unknown */
function stretchMs({ sinceMs, toMs }: PlayedTitle, nextMs: number): number {
  return Math.max(0, (toMs ?? nextMs) - sinceMs);
}
