/** `/healthz`, `/readyz` and `/metrics`, for operators and their tools. */

import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import { Refusal } from '../base/refusal.js';
import { parameter } from '../base/request-target.js';
import * as docs from '../docs/operate.js';
import { readRoute } from './methods.js';
import type { Readiness } from './readiness.js';
import { JSON_TYPE } from './reads.js';

export interface Ops {
  /** Configuration loaded, store open, listening, not shutting down; sources may be missing. */
  readonly ready: boolean;
  /** This node's view of its cluster; null: it is not in one. */
  cluster(): Promise<object | null>;
  readonly metricsType: string;
  metrics(): Promise<string>;
}

const TEXT = 'text/plain; charset=utf-8';

const RETRY = { 'Retry-After': '5' };

export function registerOps(app: FastifyInstance, ops: Ops, readiness: Readiness): void {
  const head = { 'Content-Type': TEXT, 'Cache-Control': 'no-store' };
  const alive: RouteHandlerMethod = async (_, reply) => reply.headers(head).send('ok\n');
  readRoute(app, '/healthz', alive, { docs: docs.healthz });
  const ready: RouteHandlerMethod = async ({ raw }, reply) => {
    const { ready } = ops;
    if (parameter(raw.url!, 'cluster') !== null) {
      const report = await ops.cluster();
      if (report === null) throw new Refusal('not-found', 'This server is not in a cluster.');
      const headers = { ...head, 'Content-Type': JSON_TYPE, ...(!ready && RETRY) };
      return reply
        .code(ready ? 200 : 503)
        .headers(headers)
        .send(`${JSON.stringify({ ready, ...report })}\n`);
    }
    const listing = readiness.of(raw.url!, ready);
    const { isReady, body } = listing ?? { isReady: ready, body: ready ? 'ready\n' : 'not ready\n' };
    const headers = { ...head, ...(listing !== null && { 'Content-Type': JSON_TYPE }), ...(!isReady && RETRY) };
    return reply
      .code(isReady ? 200 : 503)
      .headers(headers)
      .send(body);
  };
  readRoute(app, '/readyz', ready, { docs: docs.readyz });
  const metrics: RouteHandlerMethod = async (_, reply) =>
    reply.headers({ ...head, 'Content-Type': ops.metricsType }).send(await ops.metrics());
  readRoute(app, '/metrics', metrics, { config: { role: 'ops' }, docs: docs.metrics });
}
