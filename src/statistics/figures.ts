/**
 * Figures as plain data, for the link and the store. A row is what one process counted for one value within a minute.
 *
 *   scope        channel:jazz, station:main
 *   dimension    total (value ""), and of channels: country, player, page
 */

export const DIMENSIONS = ['country', 'player', 'page'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** What has no place of its own any more. */
export const OTHER = 'other';
/** What a listener did not say, or is not known. */
export const UNKNOWN = 'unknown';
/** Values are cut at this length. */
export const VALUE_CHARACTERS = 100;

export type FigureRow = readonly [
  scope: string,
  dimension: Dimension | 'total',
  value: string,
  /** Connections that began. */
  begun: number,
  /** Connections that ended, and how long they had lasted in all. */
  ended: number,
  endedMs: number,
  /** Milliseconds of listening, of all together. */
  listenedMs: number,
  /** The most connections at a time. */
  peak: number,
  /** Listeners (sketch.ts). */
  sketch: string,
];

/** The audience of a title within a minute. */
export type TitleRow = readonly [
  channel: string,
  /** When the title took effect: its name among those of the channel. Unix milliseconds. */
  atMs: number,
  /** Connections that were sent any part of it and were not counted for it before. */
  performances: number,
  listenedMs: number,
];

/** Of one process, of one minute. */
export interface MinuteFigures {
  /** Its first moment, unix milliseconds. */
  readonly minuteMs: number;
  /** The day whose salt the sketches have; null: there was none. */
  readonly saltDayMs: number | null;
  readonly rows: readonly FigureRow[];
  readonly titles: readonly TitleRow[];
}

export const PERIODS = ['minute', 'hour', 'day'] as const;
export type Period = (typeof PERIODS)[number];
export const PERIOD_MS: Readonly<Record<Period, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

export function startOf(period: Period, wallMs: number): number {
  return Math.floor(wallMs / PERIOD_MS[period]) * PERIOD_MS[period];
}

export function channelScope(channel: string): string {
  return `channel:${channel}`;
}

export function stationScope(station: string): string {
  return `station:${station}`;
}

/** Of one value in one period, as it is stored. */
export type StoredFigures = readonly [
  begun: number,
  ended: number,
  endedMs: number,
  listenedMs: number,
  peak: number,
  unique: number,
];
