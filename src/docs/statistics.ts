/** The OpenAPI document's listener statistics (src/statistics/README.md). */

import { DIMENSIONS, PERIODS } from '../statistics/figures.js';
import { REFUSED, SECURITY } from './admin.js';
import { content, inQuery } from './parameters.js';
import { ANYWHERE, JSON_TYPE, NO_STORE, refused } from './responses.js';
import type { Json } from './schemas.js';

const CSV_TYPE = 'text/csv; charset=utf-8';
const TEXT: Json = { type: 'string' };
const KEY_OF = (what: string) => inQuery(what, `A ${what}'s key; this or the other one.`, TEXT);
const SUBJECT = [KEY_OF('channel'), KEY_OF('station')];
const TIME = "RFC 3339; a day, or a time without an offset, is one of the station's clock. Of the years 1970 to 9998.";
const SPAN = [
  inQuery('from', `${TIME} By default 24 hours before the end.`, TEXT),
  inQuery('to', `${TIME} By default now.`, TEXT),
];
const BY = inQuery('by', 'Minutes are kept for a day, hours and days for a year.', { enum: PERIODS, default: 'hour' });
const OF = inQuery('of', 'By country, family of players, or host of the page. Without it: in all.', {
  enum: DIMENSIONS,
});
const MONTH = {
  ...inQuery('month', "A month of the station's clock, such as 2026-11, of the years 1970 to 9998.", {
    type: 'string',
    pattern: '^\\d{4}-\\d{2}$',
  }),
  required: true,
};
const FORM = inQuery('form', 'Each play, or (as CSV) each recording as a report of use.', {
  enum: ['plays', 'use'],
  default: 'plays',
});
const CATEGORY = inQuery('category', 'The transmission category that a report of use names.', TEXT);

const NUMBER: Json = { type: 'number', minimum: 0 };
const COUNT: Json = { type: 'integer', minimum: 0 };
const TIME_TEXT: Json = { type: 'string', format: 'date-time' };
const MEMBERS: Json = {
  connections: { ...COUNT, description: 'That began.' },
  listeners: { ...COUNT, description: 'Different ones, about; in totals those of each day (UTC) added up.' },
  listeningHours: NUMBER,
  peak: { ...COUNT, description: 'The most connections at a time.' },
  averageSeconds: { type: ['number', 'null'], description: 'Of the connections that ended.' },
};
const FIGURES: Json = { title: 'Figures', type: 'object', required: Object.keys(MEMBERS), properties: MEMBERS };
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
    totals: { anyOf: [FIGURES, { type: 'array', items: figures(OF_ONE) }] },
    series: { type: 'array', items: figures({ at: TIME_TEXT, ...OF_ONE }) },
  },
};
const AUDIENCE: Json = { durationSeconds: NUMBER, listenerMinutes: NUMBER, performances: COUNT };
const PLAY: Json = {
  channel: TEXT,
  start: TIME_TEXT,
  ...Object.fromEntries(['artist', 'title', 'album', 'isrc', 'source'].map((name) => [name, TEXT])),
  etype: { type: 'integer' },
  averageListeners: NUMBER,
  ...AUDIENCE,
};
const PLAYS: Json = {
  title: 'Titles and their audience',
  type: 'object',
  required: ['timezone', 'from', 'to', 'totals', 'plays'],
  properties: {
    ...HEAD,
    month: TEXT,
    totals: { type: 'object', properties: { plays: COUNT, ...AUDIENCE } },
    plays: { type: 'array', items: { title: 'Play', type: 'object', required: Object.keys(PLAY), properties: PLAY } },
  },
};

/** Both forms of what is read at a path. */
function forms(path: string, id: string, summary: string, schema: Json, parameters: readonly Json[]): Json {
  const one = (operationId: string, mediaType: string, body: Json) => {
    const responses = {
      ...ANYWHERE,
      ...REFUSED,
      ...refused('not-found', 'There is no such station or channel.'),
      ...refused(
        'invalid',
        'A parameter is wrong (all such are named), or it would be more rows than an answer may have.',
      ),
      ...refused('unavailable', 'Too many statistics are asked for at once.'),
      '200': { description: 'OK', headers: NO_STORE, content: content(mediaType, body) },
    };
    return { get: { operationId, tags: ['Admin'], summary, security: SECURITY, parameters, responses } };
  };
  return { [path]: one(id, JSON_TYPE, schema), [`${path}.csv`]: one(`${id}Csv`, CSV_TYPE, TEXT) };
}

export function listenerStatistics(): Json {
  const path = '/admin/api/statistics';
  const royalty = [...SUBJECT, MONTH, FORM, CATEGORY];
  return {
    ...forms(path, 'statisticsSeries', 'Listeners over time', SERIES, [...SUBJECT, BY, OF, ...SPAN]),
    ...forms(`${path}/titles`, 'statisticsTitles', 'Titles with their audience', PLAYS, [...SUBJECT, ...SPAN]),
    ...forms(`${path}/royalty`, 'statisticsRoyalty', "A month's titles, for rights societies", PLAYS, royalty),
  };
}
