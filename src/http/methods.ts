/**
 * For routes of fastify: the role that an address needs to serve them, what the OpenAPI document says of them, and 405 with `Allow` for methods that
 * a path does not accept (RFC 9110, 15.5.6). The 405 is sent before the body is read, so that no 413 or 415 precedes it.
 */

import type { FastifyContextConfig, FastifyInstance, RouteHandlerMethod, RouteOptions } from 'fastify';
import { Refusal } from '../base/refusal.js';
import type { Role } from '../config/addresses/addresses-config.js';
import type { RouteDocs } from '../docs/responses.js';
import { GET_METHODS, READ_METHODS } from './allow.js';
import { READ_ONLY, READ_PREFLIGHT } from './reads.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Only addresses with this role serve the route (router.ts). Undefined: all serve it. */
    role?: Role;
    /** Its operations in the OpenAPI document (document-routes.ts). Undefined: it is not part of the described interface. */
    docs?: RouteDocs;
  }
}

function noSchemas(): never {
  throw new Error('routes of this application have no schemas');
}

/** Options of all our fastify applications. */
export const APP_OPTIONS = {
  logger: false,
  exposeHeadRoutes: false,
  pluginTimeout: 0, // the default, 10 s, made starts on a busy machine fail
  return503OnClosing: false, // the engine refuses requests during a stop, as a problem with Retry-After
  // Otherwise fastify loads ajv for schemas of routes, a twentieth of the time to start. Each route parses its own input.
  schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
} as const;

/** All routes of a path have the same role. */
export interface RouteRole {
  readonly role?: Role;
}

/** Conditions of a route besides its path, by the names of fastify's constraint strategies. */
export type RouteConstraints = Readonly<Record<string, string>>;

/** Answers 405 to all other methods of this path. @param allowed a list from allow.ts @param detail of the problem, for people */
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

/** The `config` of a route. @param docs undefined: it is not described */
export function described(docs: RouteDocs | undefined, config: RouteRole = {}): FastifyContextConfig {
  return docs === undefined ? config : { ...config, docs };
}

interface ReadMore extends Pick<RouteOptions, 'preParsing'> {
  readonly config?: RouteRole;
  readonly docs?: RouteDocs | undefined;
}

/** Registers a read-only path: this handler answers GET and HEAD; all other methods are refused. */
export function readRoute(
  app: FastifyInstance,
  url: string,
  handler: RouteHandlerMethod,
  { config, docs, ...more }: ReadMore = {},
): void {
  app.route({
    ...more,
    config: described(docs, config),
    method: ['GET', 'HEAD'],
    url,
    exposeHeadRoute: false,
    handler,
  });
  refuseOthers(app, url, GET_METHODS, READ_ONLY, config);
}

/** The same for a path that pages of any origin may read: the preflight is answered. */
export function publicRoute(
  app: FastifyInstance,
  url: string,
  config: RouteRole,
  handler: RouteHandlerMethod,
  { docs, constraints = {} }: { readonly docs?: RouteDocs | undefined; readonly constraints?: RouteConstraints } = {},
): void {
  app.route({ config: described(docs, config), constraints, method: ['GET', 'HEAD'], url, handler });
  app.options(url, { config, constraints }, async (_request, reply) => reply.code(204).headers(READ_PREFLIGHT).send());
  refuseOthers(app, url, READ_METHODS, READ_ONLY, config, constraints);
}
