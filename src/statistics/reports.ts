/**
 * The reports as they are read: series and totals, titles with their audience, the royalty report of a month; as JSON and as CSV. Times are those of
 * the station's clock, with their offset. What rights societies ask for, and which column has it: README.md, "Royalty report". Pure, but for the
 * breaths.
 */

import { setImmediate as breath } from 'node:timers/promises';
import { csvLine } from '../base/csv.js';
import { zonedTime } from '../metadata/time.js';
import type { StoredFigures } from './figures.js';
import { type PlayedTitle, playedMs } from './plays.js';
import type { Series, SeriesRow, Subject } from './queries.js';
import { eachInSteps, sortedInSteps } from './steps.js';

/** Lines that are rendered between two breaths. */
const STEP = 200;
const HOUR_MS = 3_600_000;

/** As readers get it. */
interface ReadFigures {
  readonly connections: number;
  readonly listeners: number;
  readonly listeningHours: number;
  readonly peak: number;
  /** Of the connections that ended; null: none did. */
  readonly averageSeconds: number | null;
}

export function readFigures([begun, ended, endedMs, listenedMs, peak, unique]: StoredFigures): ReadFigures {
  return {
    connections: begun,
    listeners: unique,
    listeningHours: rounded(listenedMs / HOUR_MS, 4),
    peak,
    averageSeconds: ended === 0 ? null : rounded(endedMs / ended / 1000, 1),
  };
}

const NONE: StoredFigures = [0, 0, 0, 0, 0, 0];

/** @param head of the object @param dimension its name, where the rows are of one */
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

interface ReadPlay {
  readonly channel: string;
  readonly start: string;
  readonly durationSeconds: number;
  readonly artist: string;
  readonly title: string;
  readonly album: string;
  readonly isrc: string;
  readonly etype: number;
  readonly source: string;
  readonly averageListeners: number;
  readonly listenerMinutes: number;
  readonly performances: number;
}

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

/** Of 37 CFR 370.4 (d)(2), as SoundExchange's Report of Use has them. */
const USE_COLUMNS = [
  ...['NAME_OF_SERVICE', 'TRANSMISSION_CATEGORY', 'FEATURED_ARTIST', 'SOUND_RECORDING_TITLE', 'ISRC'],
  ...['ALBUM_TITLE', 'MARKETING_LABEL', 'ACTUAL_TOTAL_PERFORMANCES'],
];

/** Each recording once, in order of artist and title, with its performances. @param category of the transmission, as the licence has it */
export async function useCsv(plays: readonly ChannelPlay[], { name }: Subject, category: string): Promise<Buffer> {
  const recordings = new Map<string, { readonly play: PlayedTitle; performances: number }>();
  await eachInSteps(plays, ([, play]) => {
    // A jingle without a title.
    if (play.song === '') return;
    const key = [play.artist, play.song, play.album, play.isrc].join('\n');
    const recording = recordings.get(key) ?? { play, performances: 0 };
    recording.performances += play.performances;
    recordings.set(key, recording);
  });
  const ordered = await sortedInSteps(recordings, ([a], [b]) => (a < b ? -1 : 1));
  const row = ([, { play, performances }]: (typeof ordered)[number]) => {
    const { artist, song, album, isrc } = play;
    return csvLine([name, category, artist, song, isrc, album, '', performances]);
  };
  return render(csvLine(USE_COLUMNS), ordered, row, '', '');
}

function readPlay([channel, play]: ChannelPlay, subject: Subject, nowMs: number): ReadPlay {
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

/** Rows come many to a moment. */
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
