/**
 * `POST /metadata/listener/{metaid}/heard`: a player without a WebSocket reports its position (listener/sessions/heard-reports.ts;
 * src/listener/README.md, "Reports"). 204: the session follows the report. Pages of any origin may report.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { invalidField, Refusal, retryLater } from '../base/refusal.js';
import { heardReport } from '../docs/report-docs.js';
import { type HeardReports, REPORT_BYTES, type ReportVerdict } from '../listener/sessions/heard-reports.js';
import { REPORT_METHODS } from './allow.js';
import { described, type RouteRole, refuseOthers } from './methods.js';
import { JSON_BODY } from './push-routes.js';
import { isMetaid, notFound, READ_CORS } from './reads.js';

const HEARD_PATH = '/metadata/listener/:metaid/heard';
const ROLE: RouteRole = { role: 'poll' };
/** navigator.sendBeacon, which a page uses when it is left, sends this type without a preflight. */
const TEXT_TYPE = /^text\/plain\s*(;|$)/i;
const NO_STORE = { 'Cache-Control': 'no-store' };
const PREFLIGHT = {
  Allow: REPORT_METHODS,
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': REPORT_METHODS,
  'Access-Control-Allow-Headers': 'Content-Type',
  'Access-Control-Max-Age': '86400',
};

/** @param retrySeconds for Retry-After, if reports come too fast */
export function registerHeard(
  app: FastifyInstance,
  reports: Pick<HeardReports, 'take'>,
  retrySeconds: () => number,
): void {
  app.route({
    method: 'POST',
    url: HEARD_PATH,
    config: described(heardReport, ROLE),
    bodyLimit: REPORT_BYTES,
    onRequest: async ({ headers }: FastifyRequest, reply: FastifyReply) => {
      reply.headers(READ_CORS);
      const type = headers['content-type'] ?? '';
      if (!JSON_BODY.test(type) && !TEXT_TYPE.test(type)) {
        const detail = 'A report must be JSON with Content-Type: application/json, or text/plain.';
        throw new Refusal('unsupported-media-type', detail);
      }
    },
    handler: async ({ params, body }: FastifyRequest, reply: FastifyReply) => {
      const { metaid } = params as { readonly metaid: string };
      if (!isMetaid(metaid)) throw notFound();
      const verdict = await reports.take(metaid, Buffer.from((body as Buffer | string | undefined) ?? ''));
      if (verdict !== 'taken') throw refusalOf(verdict, retrySeconds());
      return reply.code(204).headers(NO_STORE).send();
    },
  });
  app.options(HEARD_PATH, { config: ROLE }, async (_request, reply) => reply.code(204).headers(PREFLIGHT).send());
  refuseOthers(app, HEARD_PATH, REPORT_METHODS, 'Report with POST.', ROLE);
}

function refusalOf(verdict: Exclude<ReportVerdict, 'taken'>, retrySeconds: number): Refusal {
  switch (verdict) {
    case 'unreadable':
      return new Refusal('bad-request', 'The body is not a JSON object in UTF-8.');
    case 'malformed':
      return invalidField(
        'heardMs',
        'must be a number of milliseconds (or heardAt a date with a time zone instead); session, if present, must be a string',
      );
    case 'impossible':
      return invalidField(
        'heardMs',
        'must be between 0 and the audio sent in this session (heardAt, with HLS: a listed date)',
      );
    case 'too-often':
      return retryLater('too-many', 'Too many reports from this player.', retrySeconds);
    case 'not-playing':
      return notFound('No listener plays with this metaid.');
    case 'former':
      return notFound('This is not the session that is playing.');
  }
}
