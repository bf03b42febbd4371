/**
 * The methods that a path of fastify's does not take: 405 with `Allow` (RFC 9110, 15.5.6), said before a body is looked at, so that
 * its type or size cannot hide it. Used by whoever registers a path.
 */

import type { FastifyInstance } from 'fastify';
import { Refusal } from '../base/refusal.js';

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
  refuseOthers(app, url, ['GET', 'HEAD'], 'This address can only be read.');
}
