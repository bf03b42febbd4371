/**
 * The OpenAPI 3.1 document: every path of the interface with its parameters, answers and headers. Made of the schemas that validate
 * and of the limits of the configuration. test/docs/routes.test.ts holds its paths against the router's, test/docs/documents.test.ts
 * drives the server through all of it, and the whole test suite's answers are checked against it.
 */

import { setImmediate } from 'node:timers/promises';
import { measured } from '../base/watchdog.js';
import type { PushLimits } from '../metadata/push-schema.js';
import { administration } from './admin-docs.js';
import { hoisted } from './components.js';
import { encoders } from './encoders.js';
import { withExamples } from './examples.js';
import { hls } from './hls-docs.js';
import type { Json } from './json.js';
import { operations, ownDocuments } from './operate.js';
import { contentType, inQuery, pathParameters, ref } from './parameters.js';
import { covers, histories, polls, type ReadLimits } from './read-docs.js';
import { reports } from './report-docs.js';
import { content, header, JSON_TYPE, type More, NO_STORE, ok, operation, optional, refused } from './responses.js';
import { type ObjectSchema, type Schemas, schemas } from './schemas.js';
import { listenerStatistics } from './statistics-docs.js';
import { playlists, statistics, streams } from './tune-in.js';
import { events, sockets } from './watch-docs.js';

/** A push, by GET or POST, with the token in the path or as a bearer. */
function push(method: 'get' | 'post', bearer: boolean, all: Schemas): Json {
  const isPost = method === 'post';
  const form = isPost ? 'JSON or a form' : 'parameters';
  return operation(
    'Push',
    `push${isPost ? 'Post' : 'Get'}${bearer ? 'Bearer' : ''}`,
    `Push a title as ${form}${bearer ? ', with the token in a header' : ''}`,
    pushAnswers(isPost, bearer),
    {
      ...(bearer && { security: [{ pushToken: [] }] }),
      ...(isPost ? PUSH_BODY : { parameters: parametersOf(all.PushQuery) }),
    },
  );
}

const PUSH_BODY: More = {
  description:
    'A form takes the fields of GET. They may also be in the query; those of the form have precedence. A body may be compressed (Content-Encoding: gzip, deflate or br).',
  requestBody: {
    required: false,
    content: {
      ...content('application/json', ref('PushBody')),
      ...content('application/x-www-form-urlencoded', ref('PushQuery')),
      ...content('multipart/form-data', ref('PushQuery')),
    },
  },
};

function pushAnswers(isPost: boolean, bearer: boolean): Json {
  const headers = {
    'Content-Type': contentType,
    ...NO_STORE,
    'Airsplice-Ignored': optional(
      'Names of ignored fields, percent-encoded: unknown parameters, unfilled placeholders, an unknown timezone or encoding, an unreadable time or duration, covers and images that are not http(s) URLs.',
    ),
  };
  const challenge = bearer ? { 'WWW-Authenticate': header('The authentication scheme.', { const: 'Bearer' }) } : {};
  return {
    ...ok(
      content(JSON_TYPE, ref('PushAnswer')),
      headers,
      'The title is committed. It was sent to all readers of this server that keep up, unless it waits for its time or the titles of readers are delayed.',
    ),
    ...refused('bad-request', 'The percent-encoding is broken, or the body is not JSON. Unreadable fields are named.'),
    ...refused(
      'forbidden',
      'The channel is unknown or the token is wrong. Neither answer nor timing shows which.',
      challenge,
    ),
    ...refused('too-large', 'The body, a text or extdata is too large.'),
    ...(isPost &&
      refused(
        'unsupported-media-type',
        'The body must be JSON or a form, plain or compressed with gzip, deflate or br.',
      )),
    ...refused('invalid', 'Fields are missing or invalid; all of them are named.'),
    ...refused(
      'too-many',
      'Too many accepted or refused pushes to this channel; or too many wrong tokens from this address, while too many others wait to be checked.',
    ),
    ...refused('unavailable', 'The server is shutting down, or cannot store the title durably now. Push again.'),
  };
}

/** One parameter for each field of a GET push. */
function parametersOf({ properties }: ObjectSchema): Json[] {
  return Object.entries(properties).map(([name, { description, ...schema }]) =>
    inQuery(name, String(description), schema),
  );
}

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

/**
 * Every path, without HEAD and OPTIONS, which would be half of all operations of a generated client: words say what they answer.
 * @param limits of a push and of reads, described in their fields
 */
export function paths(limits: PushLimits & ReadLimits, all = schemas(limits)): Json {
  const described: Json = {
    '/metapush/{channelkey}/{token}': { get: push('get', false, all), post: push('post', false, all) },
    '/metapush/{channelkey}': { get: push('get', true, all), post: push('post', true, all) },
    ...polls(),
    ...sockets(),
    ...events(),
    ...reports(),
    ...histories(limits),
    ...covers(),
    ...streams(),
    ...playlists(),
    ...hls(),
    ...statistics(),
    ...encoders(),
    ...operations(),
    ...administration(),
    ...listenerStatistics(),
    ...ownDocuments(),
  };
  const whole = Object.entries(described).map(([path, item]) => [
    path,
    { parameters: pathParameters(path), ...(item as Json) },
  ]);
  return withExamples(Object.fromEntries(whole));
}

/**
 * Over several turns of the loop: others are served meanwhile.
 *
 * @param limits of a push and of reads, described in their fields @param version of this server
 */
export async function openApi(limits: PushLimits & ReadLimits, version: string, all: Schemas): Promise<Json> {
  const whole = measured('document', () => paths(limits, all));
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
