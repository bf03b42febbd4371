/**
 * Reads stored figures for reports, a few at a time so that a year does not block the event loop, and never more than an answer may have. Periods
 * without listeners are left out.
 */

import { setImmediate as breath } from 'node:timers/promises';
import { Refusal } from '../base/refusal.js';
import type { HistoryStore } from '../store/store.js';
import {
  channelScope,
  type Dimension,
  PERIOD_MS,
  type Period,
  type StoredFigures,
  startOf,
  stationScope,
} from './figures.js';
import { TITLE_KIND } from './kept-plays.js';
import { isRecording, type PlayedTitle } from './plays.js';
import { figureKind } from './recorder.js';
import { eachInSteps, sortedInSteps } from './sliced-work.js';

/** Whose statistics: a channel's, or those of a station's channels. */
export interface Subject {
  readonly kind: 'channel' | 'station';
  readonly key: string;
  /** IANA; for times in requests and reports. */
  readonly timezone: string;
  readonly name: string;
  readonly channels: readonly string[];
}

/** Unix milliseconds. */
export interface TimeSpan {
  readonly fromMs: number;
  readonly beforeMs: number;
}

/** The figures of one period, and of one value if there is a dimension. */
export interface SeriesRow {
  readonly atMs: number;
  /** "": the total. */
  readonly value: string;
  readonly figures: StoredFigures;
}

export interface Series {
  /** Ordered by time, then by listening. */
  readonly rows: readonly SeriesRow[];
  /** Sums over all periods, by value. Listeners are summed over days in UTC: the day's own, or those of its periods in the span, if fewer. */
  readonly totals: ReadonlyMap<string, StoredFigures>;
}

/** A recording of music, and how often it was performed. */
export interface PerformedRecording {
  readonly play: PlayedTitle;
  readonly performances: number;
}

/** How a request gets fewer rows. */
const FEWER_PERIODS = { field: 'from', how: 'a shorter time, or longer periods' };
const FEWER_PLAYS = { field: 'channel', how: 'one channel, or a shorter time' };
/** Stored periods read in one go; those of dimensions are larger. */
const STEP = 200;
const DIMENSION_STEP = 8;

export class StatisticsReader {
  readonly #store: Pick<HistoryStore, 'figures'>;
  readonly #maxRows: () => number;

  /** @param maxRows of one answer */
  constructor(store: Pick<HistoryStore, 'figures'>, maxRows: () => number) {
    this.#store = store;
    this.#maxRows = maxRows;
  }

  /** Rejects with a Refusal (invalid) if there are too many rows. @param dimension undefined: the totals */
  async series(
    subject: Subject,
    period: Period,
    { fromMs, beforeMs }: TimeSpan,
    dimension?: Dimension,
  ): Promise<Series> {
    const span = { fromMs: startOf(period, fromMs), beforeMs };
    if ((beforeMs - span.fromMs) / PERIOD_MS[period] > this.#maxRows()) throw this.#tooMuch(FEWER_PERIODS);
    const rows = await this.#rows(subject, period, span, dimension);
    const totals = new Map<string, StoredFigures>();
    /** Listeners by day and value. */
    const ofDays = new Map<string, { readonly value: string; sum: number }>();
    await eachInSteps(rows, ({ atMs, value, figures }) => {
      totals.set(value, joined(totals.get(value), figures));
      const rowKey = `${startOf('day', atMs)} ${value}`;
      const ofDay = ofDays.get(rowKey);
      if (ofDay === undefined) ofDays.set(rowKey, { value, sum: figures[5] });
      else ofDay.sum += figures[5];
    });
    const days = await this.#rows(subject, 'day', { fromMs: startOf('day', fromMs), beforeMs }, dimension);
    const unique = new Map<string, number>();
    await eachInSteps(days, ({ atMs, value, figures }) => {
      unique.set(`${atMs} ${value}`, figures[5]);
    });
    const listeners = new Map<string, number>();
    await eachInSteps(ofDays, ([rowKey, { value, sum }]) => {
      // The day may have more listeners than the requested part of it, and may count this value among the others.
      const most = Math.min(sum, unique.get(rowKey) ?? sum);
      listeners.set(value, (listeners.get(value) ?? 0) + most);
    });
    await eachInSteps(totals, ([value, [begun, ended, endedMs, listenedMs, peak]]) => {
      totals.set(value, [begun, ended, endedMs, listenedMs, peak, listeners.get(value)!]);
    });
    return { rows, totals };
  }

  /** The titles whose first moment on air is in this span, by channel and in order. Rejects as `series`. */
  async plays(channels: readonly string[], span: TimeSpan): Promise<(readonly [channel: string, play: PlayedTitle])[]> {
    const plays: (readonly [string, PlayedTitle])[] = [];
    for await (const each of this.#plays(channels, span)) {
      if (plays.push(each) > this.#maxRows()) throw this.#tooMuch(FEWER_PLAYS);
    }
    return plays;
  }

  /** Each recording of music in this span once, by artist and title. Rejects as `series`. */
  async recordings(channels: readonly string[], span: TimeSpan): Promise<PerformedRecording[]> {
    const recordings = new Map<string, { readonly play: PlayedTitle; performances: number }>();
    for await (const [, play] of this.#plays(channels, span)) {
      if (!isRecording(play)) continue;
      const key = [play.artist, play.song, play.album, play.isrc].join('\n');
      const recording = recordings.get(key) ?? { play, performances: 0 };
      recording.performances += play.performances;
      recordings.set(key, recording);
      if (recordings.size > this.#maxRows()) throw this.#tooMuch(FEWER_PLAYS);
    }
    const ordered = await sortedInSteps(recordings, ([a], [b]) => (a < b ? -1 : 1));
    return ordered.map(([, recording]) => recording);
  }

  async *#plays(channels: readonly string[], span: TimeSpan) {
    for (const channel of channels) {
      for await (const { text } of this.#figures(TITLE_KIND, channel, span, STEP))
        yield [channel, JSON.parse(text) as PlayedTitle] as const;
    }
  }

  async #rows(
    subject: Subject,
    period: Period,
    span: TimeSpan,
    dimension: Dimension | undefined,
  ): Promise<SeriesRow[]> {
    if (dimension === undefined) {
      const scope = subject.kind === 'channel' ? channelScope(subject.key) : stationScope(subject.key);
      const rows: SeriesRow[] = [];
      for await (const { atMs, text } of this.#figures(figureKind(period), scope, span, STEP)) {
        rows.push({ atMs, value: '', figures: JSON.parse(text) });
        if (rows.length > this.#maxRows()) throw this.#tooMuch(FEWER_PERIODS);
      }
      return rows;
    }
    const byKey = new Map<string, SeriesRow>();
    for (const channel of subject.channels) {
      const kind = figureKind(period, dimension);
      for await (const { atMs, text } of this.#figures(kind, channelScope(channel), span, DIMENSION_STEP)) {
        for (const [value, figures] of Object.entries(JSON.parse(text) as Record<string, StoredFigures>)) {
          const rowKey = `${atMs} ${value}`;
          byKey.set(rowKey, { atMs, value, figures: sumOf(byKey.get(rowKey)?.figures, figures) });
        }
        if (byKey.size > this.#maxRows()) throw this.#tooMuch(FEWER_PERIODS);
      }
    }
    return sortedInSteps(byKey.values(), (a, b) => a.atMs - b.atMs || b.figures[3] - a.figures[3]);
  }

  async *#figures(kind: string, scope: string, { fromMs, beforeMs }: TimeSpan, step: number) {
    let nextMs = fromMs;
    for (;;) {
      const page = this.#store.figures(kind, scope, { fromMs: nextMs, beforeMs, limit: step });
      yield* page;
      if (page.length < step) return;
      nextMs = page.at(-1)!.atMs + 1;
      await breath();
    }
  }

  #tooMuch({ field, how }: typeof FEWER_PERIODS): Refusal {
    const max = this.#maxRows();
    return new Refusal('invalid', `This would be more than ${max} rows: request ${how}.`, {
      errors: [{ field, message: `must leave at most ${max} rows (statistics.answerRows)` }],
    });
  }
}

/** Adds up two periods. */
function joined(one: StoredFigures | undefined, other: StoredFigures): StoredFigures {
  if (one === undefined) return other;
  const [begun, ended, endedMs, listenedMs, , unique] = sumOf(one, other);
  return [begun, ended, endedMs, listenedMs, Math.max(one[4], other[4]), unique];
}

/** Adds up channels in one period: the peak is an upper bound. */
function sumOf(one: StoredFigures | undefined, other: StoredFigures): StoredFigures {
  return one === undefined ? other : (one.map((figure, i) => figure + other[i]!) as unknown as StoredFigures);
}
