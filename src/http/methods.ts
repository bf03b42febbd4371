/**
 * For routes of fastify: the role in which an address serves them, and 405 with `Allow` for all methods that a path does not take (RFC 9110,
 * 15.5.6). It is answered before the body is read, so that no 413 or 415 hides it.
 */

import type { FastifyInstance, RouteHandlerMethod, RouteOptions } from 'fastify';
import { Refusal } from '../base/refusal.js';
import type { Role } from '../config/addresses/addresses-config.js';
import { GET_METHODS, READ_METHODS } from './allow.js';
import { READ_ONLY, READ_PREFLIGHT } from './reads.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Only addresses with this role serve the route (router.ts). Undefined: all do. */
    role?: Role;
  }
}

function noSchemas(): never {
  throw new Error('routes of this application have no schemas');
}

/** What all our applications of fastify have in common. */
export const APP_OPTIONS = {
  logger: false,
  exposeHeadRoutes: false,
  pluginTimeout: 0, // its 10 s ended a start on a busy machine
  return503OnClosing: false, // the engine refuses requests during a stop, as a problem with Retry-After
  // Else fastify would load ajv for schemas of routes, a twentieth of a start. What comes in is parsed by its route.
  schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
} as const;

/** All routes of one path have the same. */
export interface RouteRole {
  readonly role?: Role;
}

/** Conditions of a route beside its path, by the constraint strategies that were added to fastify. */
export type RouteConstraints = Readonly<Record<string, string>>;

/** Answers 405 to all other methods of this path. @param allowed a list of allow.ts @param detail of the problem, for a person */
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

/** A path that is only read: GET and HEAD have this handler, and all other methods are refused. */
export function readRoute(
  app: FastifyInstance,
  url: string,
  handler: RouteHandlerMethod,
  more: Pick<RouteOptions, 'config' | 'preParsing'> = {},
): void {
  app.route({ ...more, method: ['GET', 'HEAD'], url, exposeHeadRoute: false, handler });
  refuseWrites(app, url, more.config);
}

/** For paths that are only read, by GET and HEAD. */
function refuseWrites(app: FastifyInstance, url: string, config: RouteRole = {}): void {
  refuseOthers(app, url, GET_METHODS, READ_ONLY, config);
}

/** The same for paths with CORS: OPTIONS answers the preflight. */
export function allowPreflight(
  app: FastifyInstance,
  url: string,
  config: RouteRole,
  constraints: RouteConstraints = {},
): void {
  app.options(url, { config, constraints }, async (_request, reply) => reply.code(204).headers(READ_PREFLIGHT).send());
  refuseOthers(app, url, READ_METHODS, READ_ONLY, config, constraints);
}
