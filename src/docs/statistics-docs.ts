/** The OpenAPI document's listener statistics (src/statistics/README.md). */

import { DIMENSIONS, PERIODS } from '../statistics/figures.js';
import { REFUSED, SECURITY } from './admin-docs.js';
import { COUNT, count, type Json, list, TEXT, titled } from './json.js';
import { bom, inQuery } from './parameters.js';
import { content, JSON_TYPE, ok, operation, type RouteDocs, refused } from './responses.js';

const CSV_TYPE = 'text/csv; charset=utf-8';
const KEY_OF = (what: string) => inQuery(what, `The key of a ${what}; channel or station is required.`);
const SUBJECT = [KEY_OF('channel'), KEY_OF('station')];
const TIME = "RFC 3339, or a day; without an offset in the station's time zone. Years 1970 to 9998.";
const SPAN = [inQuery('from', `${TIME} Default: 24 hours before to.`), inQuery('to', `${TIME} Default: now.`)];
const BY = inQuery(
  'by',
  'By default minutes are kept for a day, hours and days for a year. Days are UTC days; with `day`, days in `from` and `to` are too.',
  { enum: PERIODS, default: 'hour' },
);
const OF = inQuery('of', 'Figures by country, player family, or host of the page. Default: totals only.', {
  enum: DIMENSIONS,
});
const MONTH = {
  ...inQuery('month', "A month in the station's time zone, such as 2026-11. Years 1970 to 9998.", {
    ...TEXT,
    pattern: '^\\d{4}-\\d{2}$',
  }),
  required: true,
};
const FORM = inQuery(
  'form',
  'plays: a row for each play; use (CSV only): a report of use, with a row for each recording.',
  {
    enum: ['plays', 'use'],
    default: 'plays',
  },
);
const CATEGORY = inQuery('category', 'The transmission category in a report of use.');

const NUMBER: Json = { type: 'number', minimum: 0 };
const TIME_TEXT: Json = { type: 'string', format: 'date-time' };
const FIGURES = titled('Figures', {
  connections: count('Those that began.'),
  listeners: count('Distinct listeners, estimated; totals are the sum of all UTC days.'),
  listeningHours: NUMBER,
  peak: count('The most connections at once.'),
  averageSeconds: { type: ['number', 'null'], description: 'Of connections that ended; null: none did.' },
});
const OF_ONE: Json = Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, TEXT]));
const figures = (more: Json): Json => ({ allOf: [FIGURES, { type: 'object', properties: more }] });
const HEAD: Json = { channel: TEXT, station: TEXT, timezone: TEXT, from: TIME_TEXT, to: TIME_TEXT };
const SERIES: Json = {
  title: 'Listener statistics',
  type: 'object',
  required: ['timezone', 'by', 'from', 'to', 'totals', 'series'],
  properties: {
    ...HEAD,
    by: { enum: PERIODS },
    of: { enum: DIMENSIONS },
    totals: { anyOf: [FIGURES, list(figures(OF_ONE))] },
    series: list(figures({ at: TIME_TEXT, ...OF_ONE })),
  },
};
const AUDIENCE = { durationSeconds: NUMBER, listenerMinutes: NUMBER, performances: COUNT };
const PLAY = titled('Play', {
  channel: TEXT,
  start: TIME_TEXT,
  ...Object.fromEntries(['artist', 'title', 'album', 'isrc', 'source'].map((name) => [name, TEXT])),
  etype: { type: 'integer' },
  averageListeners: NUMBER,
  ...AUDIENCE,
});
const PLAYS: Json = {
  title: 'Titles and their audience',
  type: 'object',
  required: ['timezone', 'from', 'to', 'totals', 'plays'],
  properties: {
    ...HEAD,
    month: TEXT,
    totals: { type: 'object', properties: { plays: COUNT, ...AUDIENCE } },
    plays: list(PLAY),
  },
};

const REFUSALS: Json = {
  ...REFUSED,
  ...refused('not-found', 'There is no such station or channel.'),
  ...refused('invalid', 'Parameters are invalid (all of them are named), or the answer would have too many rows.'),
  ...refused('unavailable', 'Too many requests for statistics at once.'),
};

/** @param id of the JSON form; that of CSV ends with Csv */
function report(id: string, summary: string, schema: Json, parameters: readonly Json[]) {
  return (isCsv: boolean): RouteDocs =>
    () => {
      const [operationId, body] = isCsv ? [`${id}Csv`, content(CSV_TYPE, TEXT)] : [id, content(JSON_TYPE, schema)];
      const all = isCsv ? [...parameters, bom] : parameters;
      return operation(
        'Admin',
        operationId,
        summary,
        { ...REFUSALS, ...ok(body) },
        { security: SECURITY, parameters: all },
      );
    };
}

/** What each route of http/admin/statistics-routes.ts says of itself: of its JSON, and of its CSV. */
export const series = report('statisticsSeries', 'Listeners over time', SERIES, [...SUBJECT, BY, OF, ...SPAN]);
export const titles = report('statisticsTitles', 'Titles with their audience', PLAYS, [...SUBJECT, ...SPAN]);
const ROYALTY = [...SUBJECT, MONTH, FORM, CATEGORY];
export const royalty = report('statisticsRoyalty', "A month's titles, for rights societies", PLAYS, ROYALTY);
