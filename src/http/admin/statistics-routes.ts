/**
 * `/admin/api/statistics`: series and totals, titles with their audience, the royalty report of a month; as JSON, or as CSV if the path ends in
 * `.csv`. Their meaning: src/statistics/README.md.
 */

import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import type { Clock } from '../../base/clock.js';
import { BOM } from '../../base/csv.js';
import { queryOf } from '../../base/request-target.js';
import { measured } from '../../base/watchdog.js';
import type { RouteDocs } from '../../docs/responses.js';
import * as docs from '../../docs/statistics-docs.js';
import { zonedTime } from '../../metadata/time.js';
import type { StatisticsReader } from '../../statistics/queries.js';
import { playsCsv, playsJson, seriesCsv, seriesJson, useCsv } from '../../statistics/reports.js';
import { CompressibleBody, compressed } from '../compression.js';
import { readRoute } from '../methods.js';
import { JSON_TYPE } from '../reads.js';
import { ADMIN_ROLE, type AdminAccess } from './admin-access.js';
import { type CountedStation, StatisticsQuery } from './statistics-query.js';
import { StatisticsTurns } from './statistics-turns.js';

export interface StatisticsParts {
  readonly access: AdminAccess;
  readonly reader: StatisticsReader;
  readonly clock: Clock;
  /** Those in the present configuration. */
  stations(): readonly CountedStation[];
}

const CSV_TYPE = 'text/csv; charset=utf-8';

/**
 * Parses the query at once, so that a wrong one is refused without waiting for a turn, and returns the function that makes the answer.
 * @param isCsv whether the path ends in .csv
 */
type StatisticsAnswer = (query: StatisticsQuery, isCsv: boolean) => () => Promise<Buffer>;

export function registerStatistics(app: FastifyInstance, parts: StatisticsParts): void {
  const { access } = parts;
  const turns = new StatisticsTurns();
  const serve = (path: string, about: (isCsv: boolean) => RouteDocs, answer: StatisticsAnswer) => {
    for (const isCsv of [false, true]) {
      const handler: RouteHandlerMethod = async (request, reply) => {
        await access.require(request, reply, 'read');
        const query = new StatisticsQuery(new URLSearchParams(queryOf(request.raw.url!)));
        const hasBom = query.hasBom();
        const body = await turns.take(reply.raw, answer(query, isCsv));
        // Never cached, so it needs no tag.
        const whole = new CompressibleBody(isCsv && hasBom ? Buffer.concat([Buffer.from(BOM), body]) : body, '');
        const { headers, bytes } = compressed(request.raw, whole);
        return reply.headers({ ...headers, 'Content-Type': isCsv ? CSV_TYPE : JSON_TYPE }).send(await bytes());
      };
      readRoute(app, isCsv ? `${path}.csv` : path, handler, { config: ADMIN_ROLE, docs: about(isCsv) });
    }
  };
  const path = '/admin/api/statistics';
  serve(path, docs.series, (query, isCsv) => series(parts, query, isCsv));
  serve(`${path}/titles`, docs.titles, (query, isCsv) => titles(parts, query, isCsv));
  serve(`${path}/royalty`, docs.royalty, (query, isCsv) => royalty(parts, query, isCsv));
}

function series({ reader, clock, stations }: StatisticsParts, query: StatisticsQuery, isCsv: boolean) {
  const subject = query.subject(stations());
  const [period, dimension] = [query.period(), query.dimension()];
  const span = query.span(subject, clock.wallMs(), period);
  query.check();
  return async () => {
    const found = await reader.series(subject, period, span, dimension);
    if (isCsv) return measured('statistics', () => seriesCsv(found, subject, dimension));
    const { kind, key, timezone } = subject;
    const head = { [kind]: key, timezone, by: period, ...(dimension && { of: dimension }), ...spanOf(span, timezone) };
    return measured('statistics', () => seriesJson(head, found, subject, dimension));
  };
}

function titles({ reader, clock, stations }: StatisticsParts, query: StatisticsQuery, isCsv: boolean) {
  const subject = query.subject(stations());
  const nowMs = clock.wallMs();
  const span = query.span(subject, nowMs);
  query.check();
  return async () => {
    const plays = await reader.plays(subject.channels, span);
    if (isCsv) return playsCsv(plays, subject, nowMs);
    const { kind, key, timezone } = subject;
    return playsJson({ [kind]: key, timezone, ...spanOf(span, timezone) }, plays, subject, nowMs);
  };
}

function royalty({ reader, clock, stations }: StatisticsParts, query: StatisticsQuery, isCsv: boolean) {
  const subject = query.subject(stations(), true);
  const nowMs = clock.wallMs();
  const { month, ...span } = query.month(subject);
  const [form, category] = [query.form(), query.category()];
  query.check();
  return async () => {
    const { channels } = subject;
    if (isCsv && form === 'use') return useCsv(await reader.recordings(channels, span), subject, category);
    const plays = await reader.plays(channels, span);
    if (isCsv) return playsCsv(plays, subject, nowMs);
    const { kind, key, timezone } = subject;
    return playsJson({ [kind]: key, month, timezone, ...spanOf(span, timezone) }, plays, subject, nowMs);
  };
}

function spanOf({ fromMs, beforeMs }: { fromMs: number; beforeMs: number }, timezone: string) {
  return { from: zonedTime(fromMs / 1000, timezone), to: zonedTime(beforeMs / 1000, timezone) };
}
