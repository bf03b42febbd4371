/**
 * Renders reports as JSON and CSV: series and totals, titles with their audience, the royalty report of a month. Times are in the station's
 * time zone, with their offset. The columns that rights societies want: README.md, "Royalty report".
 */

import { setImmediate as breath } from 'node:timers/promises';
import { csvLine } from '../base/csv.js';
import { zonedTime } from '../metadata/time.js';
import type { StoredFigures } from './figures.js';
import { type PlayedTitle, playedMs } from './plays.js';
import type { PerformedRecording, Series, SeriesRow, Subject } from './queries.js';
import { eachInSteps, sortedInSteps } from './sliced-work.js';

/** Lines rendered in one go. */
const STEP = 200;
const HOUR_MS = 3_600_000;

/** The figures as in reports. */
export function readFigures([begun, ended, endedMs, listenedMs, peak, unique]: StoredFigures) {
  return {
    connections: begun,
    listeners: unique,
    listeningHours: rounded(listenedMs / HOUR_MS, 4),
    peak,
    /** The average of connections that ended; null: none did. */
    averageSeconds: ended === 0 ? null : rounded(endedMs / ended / 1000, 1),
  };
}

const NONE: StoredFigures = [0, 0, 0, 0, 0, 0];

/** @param head its members precede the report's @param dimension the name of the rows' dimension, if there is one */
export async function seriesJson(head: object, series: Series, subject: Subject, dimension?: string): Promise<Buffer> {
  const { totals } = series;
  const opened = `${JSON.stringify(head).slice(0, -1)},"totals":`;
  const pieces: Buffer[] = [];
  if (dimension === undefined) {
    pieces.push(Buffer.from(`${opened}${JSON.stringify(readFigures(totals.get('') ?? NONE))}`));
  } else {
    const ordered = await sortedInSteps(totals, ([, a], [, b]) => b[3] - a[3]);
    const total = ([value, figures]: [string, StoredFigures]) =>
      JSON.stringify({ [dimension]: value, ...readFigures(figures) });
    pieces.push(await render(`${opened}[`, ordered, total, ',', ']'));
  }
  const at = zoned(subject);
  const row = ({ atMs, value, figures }: SeriesRow) =>
    JSON.stringify({ at: at(atMs), ...(dimension && { [dimension]: value }), ...readFigures(figures) });
  pieces.push(await render(',"series":[', series.rows, row, ',', ']}'));
  return Buffer.concat(pieces);
}

export function seriesCsv({ rows }: Series, subject: Subject, dimension?: string): Promise<Buffer> {
  const names = ['connections', 'listeners', 'listening_hours', 'peak', 'average_seconds'];
  const at = zoned(subject);
  const row = ({ atMs, value, figures }: SeriesRow) => {
    const { connections, listeners, listeningHours, peak, averageSeconds } = readFigures(figures);
    const cells = [connections, listeners, listeningHours, peak, averageSeconds ?? ''];
    return csvLine([at(atMs), ...(dimension === undefined ? [] : [value]), ...cells]);
  };
  return render(csvLine(['at', ...(dimension === undefined ? [] : [dimension]), ...names]), rows, row, '', '');
}

/** A title with its audience. */
export type ChannelPlay = readonly [channel: string, play: PlayedTitle];

export async function playsJson(
  head: object,
  plays: readonly ChannelPlay[],
  subject: Subject,
  nowMs: number,
): Promise<Buffer> {
  const sums = { durationMs: 0, listenedMs: 0, performances: 0 };
  await eachInSteps(plays, ([, play]) => {
    sums.durationMs += playedMs(play, nowMs);
    sums.listenedMs += play.listenedMs;
    sums.performances += play.performances;
  });
  const totals = {
    plays: plays.length,
    durationSeconds: rounded(sums.durationMs / 1000, 1),
    listenerMinutes: rounded(sums.listenedMs / 60_000, 2),
    performances: sums.performances,
  };
  const opened = `${JSON.stringify({ ...head, totals }).slice(0, -1)},"plays":[`;
  return render(opened, plays, (play) => JSON.stringify(readPlay(play, subject, nowMs)), ',', ']}');
}

const PLAY_COLUMNS = [
  ...['channel', 'start', 'duration_seconds', 'artist', 'title', 'album', 'isrc', 'etype', 'source'],
  ...['average_listeners', 'listener_minutes', 'performances'],
];

export function playsCsv(plays: readonly ChannelPlay[], subject: Subject, nowMs: number): Promise<Buffer> {
  const row = (play: ChannelPlay) => csvLine(Object.values(readPlay(play, subject, nowMs)));
  return render(csvLine(PLAY_COLUMNS), plays, row, '', '');
}

/** SoundExchange's Report of Use (37 CFR 370.4 (d)(2)). */
const USE_COLUMNS = [
  ...['NAME_OF_SERVICE', 'TRANSMISSION_CATEGORY', 'FEATURED_ARTIST', 'SOUND_RECORDING_TITLE', 'ISRC'],
  ...['ALBUM_TITLE', 'MARKETING_LABEL', 'ACTUAL_TOTAL_PERFORMANCES'],
];

/** @param category of the transmission, as in the licence */
export function useCsv(
  recordings: readonly PerformedRecording[],
  { name }: Subject,
  category: string,
): Promise<Buffer> {
  const row = ({ play, performances }: PerformedRecording) => {
    const { artist, song, album, isrc } = play;
    return csvLine([name, category, artist, song, isrc, album, '', performances]);
  };
  return render(csvLine(USE_COLUMNS), recordings, row, '', '');
}

/** A play as in reports, in the order of PLAY_COLUMNS. */
function readPlay([channel, play]: ChannelPlay, subject: Subject, nowMs: number) {
  const lastedMs = playedMs(play, nowMs);
  return {
    channel,
    start: zonedTime(play.fromMs / 1000, subject.timezone),
    durationSeconds: rounded(lastedMs / 1000, 1),
    artist: play.artist,
    title: play.song,
    album: play.album,
    isrc: play.isrc,
    etype: play.etype,
    source: play.source,
    averageListeners: lastedMs === 0 ? 0 : rounded(play.listenedMs / lastedMs, 2),
    listenerMinutes: rounded(play.listenedMs / 60_000, 2),
    performances: play.performances,
  };
}

async function render<T>(
  opened: string,
  rows: readonly T[],
  text: (row: T) => string,
  between: string,
  closed: string,
): Promise<Buffer> {
  const pieces = [Buffer.from(opened)];
  for (let i = 0; i < rows.length; i += STEP) {
    const texts = rows.slice(i, i + STEP).map(text);
    pieces.push(Buffer.from((i > 0 ? between : '') + texts.join(between)));
    await breath();
  }
  return Buffer.concat([...pieces, Buffer.from(closed)]);
}

/** Remembers the last time, as many rows share one. */
function zoned({ timezone }: Subject): (atMs: number) => string {
  let [lastMs, last] = [Number.NaN, ''];
  return (atMs) => {
    if (atMs !== lastMs) [lastMs, last] = [atMs, zonedTime(atMs / 1000, timezone)];
    return last;
  };
}

function rounded(number: number, digits: number): number {
  return Number(number.toFixed(digits));
}
