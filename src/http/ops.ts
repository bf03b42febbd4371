/**
 * What operators and their tools look at: is it alive, is it ready, what does it count.
 */

import type { FastifyInstance } from 'fastify';
import { type RouteRole, refuseWrites } from './methods.js';
import type { Readiness } from './readiness.js';
import { JSON_TYPE } from './reads.js';

export interface Ops {
  /** Configuration loaded, store open and in its place, listening, not shutting down (sources need not be there). */
  readonly ready: boolean;
  readonly metricsType: string;
  metrics(): Promise<string>;
}

const ROLE: RouteRole = { role: 'ops' };
const TEXT = 'text/plain; charset=utf-8';

const RETRY = { 'Retry-After': '5' };

export function registerOps(app: FastifyInstance, ops: Ops, readiness: Readiness): void {
  const head = { 'Content-Type': TEXT, 'Cache-Control': 'no-store' };
  app.route({
    method: ['GET', 'HEAD'],
    url: '/healthz',
    handler: async (_, reply) => reply.headers(head).send('ok\n'),
  });
  app.route({
    method: ['GET', 'HEAD'],
    url: '/readyz',
    handler: async ({ raw }, reply) => {
      const { ready } = ops;
      const listing = readiness.of(raw.url!, ready);
      const { isReady, body } = listing ?? { isReady: ready, body: ready ? 'ready\n' : 'not ready\n' };
      const headers = { ...head, ...(listing !== null && { 'Content-Type': JSON_TYPE }), ...(!isReady && RETRY) };
      return reply
        .code(isReady ? 200 : 503)
        .headers(headers)
        .send(body);
    },
  });
  app.route({
    method: ['GET', 'HEAD'],
    url: '/metrics',
    config: ROLE,
    handler: async (_, reply) => reply.headers({ ...head, 'Content-Type': ops.metricsType }).send(await ops.metrics()),
  });
  for (const url of ['/healthz', '/readyz']) refuseWrites(app, url);
  refuseWrites(app, '/metrics', ROLE);
}
