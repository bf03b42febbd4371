/**
 * The OpenAPI 3.1 document: every path of the interface with its parameters, answers and headers. Made of what the routes of fastify say of
 * themselves, of the schemas that validate and of the limits of the configuration. test/docs/documents.test.ts drives the server through all of
 * it, and the whole test suite's answers are checked against it.
 */

import { setImmediate } from 'node:timers/promises';
import { measured } from '../base/watchdog.js';
import type { PushLimits } from '../metadata/push-schema.js';
import { hoisted } from './components.js';
import { encoders } from './encoders.js';
import { withExamples } from './examples.js';
import { hls } from './hls-docs.js';
import type { Json } from './json.js';
import { pathParameters } from './parameters.js';
import { covers, histories, polls, type ReadLimits } from './read-docs.js';
import type { RouteDocs } from './responses.js';
import { type Schemas, schemas } from './schemas.js';
import { playlists, streams } from './tune-in.js';
import { events, sockets } from './watch-docs.js';

/** What each group is for, and the role of the addresses that serve it. */
const TAGS: Readonly<Record<string, string>> = {
  Push: 'Titles from playout systems. Role push.',
  Poll: 'The current and following titles. Role poll.',
  Watch: 'Titles as they change; the messages are in /asyncapi.json. Role watch; reports of players: role poll.',
  History: 'What was on air. Role poll.',
  Hear: 'Streams, their playlists and statistics. Role stream.',
  Encode:
    'Titles that encoders send. Refusals are plain text. Encoders send audio with PUT or SOURCE to a mount. Role encoder.',
  Operate:
    'Health and readiness: at every address. Metrics: role ops; an address without roles serves them to its own machine only.',
  Admin:
    'View and control the server, with credentials. Role admin; an address without roles serves its own machine only.',
  Documents: 'API documents and client modules. At every address.',
};

/** A route of fastify that describes itself (http/document-routes.ts). */
export interface DescribedRoute {
  /** As fastify has it: `/metapush/:channel`. */
  readonly url: string;
  /** In lower case. */
  readonly methods: readonly string[];
  readonly docs: RouteDocs;
}

/**
 * Every path, without HEAD and OPTIONS, which would be half of all operations of a generated client: words say what they answer. What bypasses
 * fastify (http/router.ts), and playlists, whose one route is `/*`, are listed here; routes of fastify describe themselves.
 *
 * @param limits of a push and of reads, described in their fields @param routes those of fastify
 */
export function paths(limits: PushLimits & ReadLimits, routes: readonly DescribedRoute[], all = schemas(limits)): Json {
  const reads = {
    ...polls(),
    ...sockets(),
    ...events(),
    ...histories(limits),
    ...covers(),
    ...streams(),
    ...playlists(),
    ...hls(),
  };
  const items: Record<string, Json> = {
    ...Object.fromEntries(Object.entries(reads).map(([path, get]) => [path, { get }])),
    ...(encoders() as Record<string, Json>),
  };
  for (const { url, methods, docs } of routes) {
    const path = url.replace(/:channel\b/, ':channelkey').replace(/:(\w+)/g, '{$1}');
    items[path] = { ...items[path], ...Object.fromEntries(methods.map((method) => [method, docs(all, method)])) };
  }
  const whole = Object.entries(items)
    .sort(([, a], [, b]) => placeOf(a) - placeOf(b))
    .map(([path, item]) => [path, { parameters: pathParameters(path), ...item }]);
  return withExamples(Object.fromEntries(whole));
}

/** The place of the group to which a path belongs. */
function placeOf(item: Json): number {
  const [first] = Object.values(item) as { readonly tags: readonly [string] }[];
  return Object.keys(TAGS).indexOf(first!.tags[0]);
}

/**
 * Over several turns of the loop: others are served meanwhile.
 *
 * @param limits of a push and of reads, described in their fields @param routes those of fastify @param version of this server
 */
export async function openApi(
  limits: PushLimits & ReadLimits,
  routes: readonly DescribedRoute[],
  version: string,
  all: Schemas,
): Promise<Json> {
  const whole = measured('document', () => paths(limits, routes, all));
  await setImmediate();
  const { paths: short, components } = measured('document', () => hoisted(whole, all));
  return {
    openapi: '3.1.0',
    info: {
      title: 'airsplice',
      version,
      description:
        'Push the titles of radio streams, and read them by polling, WebSocket or server-sent events. The messages of the last two are at [/docs/messages](/docs/messages) (/asyncapi.json). ' +
        'Refusals are problem+json (RFC 9457); 401, 403, 404 and 503 are an HTML page if Accept names text/html. An unsupported method gets 405 with Allow. ' +
        'All reads by GET also answer HEAD; a push answers it with 405. Reads answer OPTIONS as a CORS preflight for pages of any origin. ' +
        'If there is no room for another connection, the answer is 503 with Retry-After, and the connection is closed. ' +
        'The operator gives each address its roles. One with the role legacy (a deprecated host) serves push, poll, watch and stream, with the headers Deprecation, Sunset and Link.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: short,
    components: {
      ...components,
      securitySchemes: {
        pushToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'The push token, kept out of URLs.',
        },
        adminPassword: { type: 'http', scheme: 'basic', description: 'Name and password of a user in admin.users.' },
        adminToken: { type: 'http', scheme: 'bearer', description: 'A token of a user in admin.users.' },
        encoder: {
          type: 'http',
          scheme: 'basic',
          description: "The user `source` or the encoder's own user, and the encoder's password.",
        },
      },
    },
  };
}
