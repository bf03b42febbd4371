/**
 * The methods that a path of fastify's does not take: 405 with `Allow` (RFC 9110, 15.5.6), said before a body is looked at, so that
 * its type or size cannot hide it. Used by whoever registers a path.
 */

import type { FastifyInstance } from 'fastify';
import { Refusal } from '../base/refusal.js';
import { READ_PREFLIGHT } from './reads.js';

const READ_ONLY = 'This address can only be read.';

/** Answers every method but these for this path. @param detail for a person */
export function refuseOthers(app: FastifyInstance, url: string, allowed: readonly string[], detail: string): void {
  app.route({
    method: app.supportedMethods.filter((method) => !allowed.includes(method)),
    url,
    onRequest: async () => {
      throw new Refusal('method-not-allowed', detail, { headers: { Allow: allowed.join(', ') } });
    },
    handler: async () => undefined,
  });
}

/** For what can only be read, by GET and HEAD. */
export function refuseWrites(app: FastifyInstance, url: string): void {
  refuseOthers(app, url, ['GET', 'HEAD'], READ_ONLY);
}

/** The same for what pages of other origins may read too: OPTIONS answers their preflight. */
export function allowPreflight(app: FastifyInstance, url: string): void {
  app.options(url, async (_request, reply) => reply.code(204).headers(READ_PREFLIGHT).send());
  refuseOthers(app, url, ['GET', 'HEAD', 'OPTIONS'], READ_ONLY);
}
