/**
 * What was kept, as reports need it: read a little at a time, so that a year takes no turn of the event loop for itself, and never more than an
 * answer may have. Periods in which nobody listened are not there.
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
import type { PlayedTitle } from './plays.js';
import { figureKind, TITLE_KIND } from './recorder.js';
import { eachInSteps, sortedInSteps } from './steps.js';

/** Whose statistics: a channel's, or those of a station's channels. */
export interface Subject {
  readonly kind: 'channel' | 'station';
  readonly key: string;
  /** IANA; in it times are read and written. */
  readonly timezone: string;
  readonly name: string;
  readonly channels: readonly string[];
}

/** Unix milliseconds. */
export interface TimeSpan {
  readonly fromMs: number;
  readonly beforeMs: number;
}

/** Of one period, and with a dimension of one of its values. */
export interface SeriesRow {
  readonly atMs: number;
  /** "": the total. */
  readonly value: string;
  readonly figures: StoredFigures;
}

export interface Series {
  /** In order of time, and then of listening. */
  readonly rows: readonly SeriesRow[];
  /** Over all periods, by value; the listeners are those of each day in UTC that it touches, added up. */
  readonly totals: ReadonlyMap<string, StoredFigures>;
}

/** Stored periods that are read between two breaths; of a dimension, which are larger. */
const STEP = 200;
const DIMENSION_STEP = 8;

export class StatisticsReader {
  readonly #store: Pick<HistoryStore, 'figures'>;
  readonly #mostRows: () => number;

  /** @param mostRows of one answer */
  constructor(store: Pick<HistoryStore, 'figures'>, mostRows: () => number) {
    this.#store = store;
    this.#mostRows = mostRows;
  }

  /** Rejects with a Refusal (invalid) when it would be more than an answer may have. @param dimension undefined: the totals */
  async series(
    subject: Subject,
    period: Period,
    { fromMs, beforeMs }: TimeSpan,
    dimension?: Dimension,
  ): Promise<Series> {
    const span = { fromMs: startOf(period, fromMs), beforeMs };
    if ((beforeMs - span.fromMs) / PERIOD_MS[period] > this.#mostRows()) throw this.#tooMuch();
    const rows = await this.#rows(subject, period, span, dimension);
    const totals = new Map<string, StoredFigures>();
    await eachInSteps(rows, ({ value, figures }) => {
      totals.set(value, together(totals.get(value), figures));
    });
    const days = await this.#rows(subject, 'day', { fromMs: startOf('day', fromMs), beforeMs }, dimension);
    const unique = new Map<string, number>();
    await eachInSteps(days, ({ value, figures }) => {
      unique.set(value, (unique.get(value) ?? 0) + figures[5]);
    });
    await eachInSteps(totals, ([value, [begun, ended, endedMs, listenedMs, peak]]) => {
      totals.set(value, [begun, ended, endedMs, listenedMs, peak, unique.get(value) ?? 0]);
    });
    return { rows, totals };
  }

  /** The titles that came on air in this time, of each channel in order. Rejects as `series`. */
  async plays(channels: readonly string[], span: TimeSpan): Promise<(readonly [channel: string, play: PlayedTitle])[]> {
    const plays: (readonly [string, PlayedTitle])[] = [];
    for (const channel of channels) {
      for await (const { text } of this.#figures(TITLE_KIND, channel, span, STEP)) {
        plays.push([channel, JSON.parse(text) as PlayedTitle]);
        if (plays.length > this.#mostRows()) throw this.#tooMuch();
      }
    }
    return plays;
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
        if (rows.length > this.#mostRows()) throw this.#tooMuch();
      }
      return rows;
    }
    const byPlace = new Map<string, SeriesRow>();
    for (const channel of subject.channels) {
      const kind = figureKind(period, dimension);
      for await (const { atMs, text } of this.#figures(kind, channelScope(channel), span, DIMENSION_STEP)) {
        for (const [value, figures] of Object.entries(JSON.parse(text) as Record<string, StoredFigures>)) {
          const place = `${atMs} ${value}`;
          byPlace.set(place, { atMs, value, figures: sumOf(byPlace.get(place)?.figures, figures) });
        }
        if (byPlace.size > this.#mostRows()) throw this.#tooMuch();
      }
    }
    return sortedInSteps(byPlace.values(), (a, b) => a.atMs - b.atMs || b.figures[3] - a.figures[3]);
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

  #tooMuch(): Refusal {
    const most = this.#mostRows();
    return new Refusal(
      'invalid',
      `This would be more than ${most} rows: ask for a shorter time, or for longer periods.`,
      {
        errors: [{ field: 'from', message: `must leave at most ${most} rows (statistics.answerRows)` }],
      },
    );
  }
}

/** One after the other. */
function together(one: StoredFigures | undefined, other: StoredFigures): StoredFigures {
  if (one === undefined) return other;
  const [begun, ended, endedMs, listenedMs, , unique] = sumOf(one, other);
  return [begun, ended, endedMs, listenedMs, Math.max(one[4], other[4]), unique];
}

/** At one time, in several channels: the peak is the most that it can have been. */
function sumOf(one: StoredFigures | undefined, other: StoredFigures): StoredFigures {
  return one === undefined ? other : (one.map((figure, i) => figure + other[i]!) as unknown as StoredFigures);
}
