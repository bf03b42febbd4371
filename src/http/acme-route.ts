/** Answers the challenges of a certificate authority on port 80, at every address, whatever its roles (net/acme/acme-answers.ts, RFC 8555, 8.3). */

import type { FastifyInstance } from 'fastify';
import { Refusal } from '../base/refusal.js';
import { readRoute } from './methods.js';

/** @param answer resolves with null if there is none for this host and token */
export function registerAcme(
  app: FastifyInstance,
  answer: (host: string | undefined, token: string) => Promise<string | null>,
): void {
  readRoute(app, '/.well-known/acme-challenge/:token', async ({ raw, params }, reply) => {
    const text = await answer(raw.headers.host, (params as { readonly token: string }).token);
    if (text === null) throw new Refusal('not-found', 'Nothing is served at this address.');
    return reply.headers({ 'Content-Type': 'application/octet-stream', 'Cache-Control': 'no-store' }).send(text);
  });
}
