/**
 * What a route of fastify's says beside its handler: the role in which an address serves it, and the methods that it does not take: 405 with
 * `Allow` (RFC 9110, 15.5.6), before a body is looked at, so that its type or size cannot hide it.
 */

import type { FastifyInstance } from 'fastify';
import { Refusal } from '../base/refusal.js';
import type { Role } from '../config/schema.js';
import { GET_METHODS, READ_METHODS } from './allow.js';
import { READ_ONLY, READ_PREFLIGHT } from './reads.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** An address serves the route only in this role (router.ts). Undefined: every address does. */
    role?: Role;
  }
}

/** Of all routes of a path the same. */
export interface RouteRole {
  readonly role?: Role;
}

/** What a request must be, beside its path, for a route to be its own: by the strategies that were added to fastify. */
export type RouteConstraints = Readonly<Record<string, string>>;

/** Answers every method but these for this path. @param allowed a list of allow.ts @param detail for a person */
export function refuseOthers(
  app: FastifyInstance,
  url: string,
  allowed: string,
  detail: string,
  config: RouteRole = {},
  constraints: RouteConstraints = {},
): void {
  const taken = allowed.split(', ');
  app.route({
    config,
    constraints,
    method: app.supportedMethods.filter((method) => !taken.includes(method)),
    url,
    onRequest: async () => {
      throw new Refusal('method-not-allowed', detail, { headers: { Allow: allowed } });
    },
    handler: async () => undefined,
  });
}

/** For what can only be read, by GET and HEAD. */
export function refuseWrites(app: FastifyInstance, url: string, config: RouteRole = {}): void {
  refuseOthers(app, url, GET_METHODS, READ_ONLY, config);
}

/** The same for what pages of other origins may read too: OPTIONS answers their preflight. */
export function allowPreflight(
  app: FastifyInstance,
  url: string,
  config: RouteRole,
  constraints: RouteConstraints = {},
): void {
  app.options(url, { config, constraints }, async (_request, reply) => reply.code(204).headers(READ_PREFLIGHT).send());
  refuseOthers(app, url, READ_METHODS, READ_ONLY, config, constraints);
}
