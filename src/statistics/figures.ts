/**
 * Figures as plain data, for the link and the store. A row is what one process counted for one value within a minute.
 *
 *   scope        channel:jazz, station:main
 *   dimension    total (value ""), and of channels: country, player, page
 */

export const DIMENSIONS = ['country', 'player', 'page'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** Stands for all values that have no row of their own. */
export const OTHER = 'other';
/** The value if the listener did not send it, or it is not known. */
export const UNKNOWN = 'unknown';
/** Values are cut at this length. */
export const VALUE_CHARACTERS = 100;

export type FigureRow = readonly [
  scope: string,
  dimension: Dimension | 'total',
  value: string,
  /** Connections that began. */
  begun: number,
  /** Connections that ended, and their total duration. */
  ended: number,
  endedMs: number,
  /** Listening time of all connections together, milliseconds. */
  listenedMs: number,
  /** The most connections at a time. */
  peak: number,
  /** Listeners (sketch.ts). */
  sketch: string,
];

/** The audience of a title within a minute. */
export type TitleRow = readonly [
  channel: string,
  /** When the title took effect, unix milliseconds: identifies it within the channel. */
  atMs: number,
  /** Connections that were sent any part of it and were not counted for it before. */
  performances: number,
  listenedMs: number,
];

/** The figures of one process in one minute. */
export interface MinuteFigures {
  /** The first moment of the minute, unix milliseconds. */
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

/** The figures of one value in one period, as they are stored. */
export type StoredFigures = readonly [
  begun: number,
  ended: number,
  endedMs: number,
  listenedMs: number,
  peak: number,
  unique: number,
];
