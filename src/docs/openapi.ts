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
    `Push a title as ${form}${bearer ? ', the token in a header' : ''}`,
    pushAnswers(isPost, bearer),
    {
      ...(bearer && { security: [{ pushToken: [] }] }),
      ...(isPost ? PUSH_BODY : { parameters: parametersOf(all.PushQuery) }),
    },
  );
}

const PUSH_BODY: More = {
  description:
    'A form has the rules of the parameters of GET, which may also stand in the address; its fields count more than those. A body may be compressed (Content-Encoding: gzip, deflate or br).',
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
      'Where fields were not taken: unknown parameters, placeholders that were not filled in, a timezone or encoding that is not known, a time or duration that cannot be read, covers and images that are not http(s) URLs. Their names, percent-encoded.',
    ),
  };
  const challenge = bearer ? { 'WWW-Authenticate': header('Which way there is.', { const: 'Bearer' }) } : {};
  return {
    ...ok(
      content(JSON_TYPE, ref('PushAnswer')),
      headers,
      'It is committed. Unless it waits for its time, or titles of readers are delayed, the readers of this server that keep up have been written to.',
    ),
    ...refused(
      'bad-request',
      'It has a broken percent-encoding, or is not JSON. Fields that cannot be read are named.',
    ),
    ...refused(
      'forbidden',
      'The channel is unknown or the token is not its own: one answer, in the same time.',
      challenge,
    ),
    ...refused('too-large', 'The body, a text or extdata is too large.'),
    ...(isPost &&
      refused(
        'unsupported-media-type',
        'The body has to be JSON or a form, as it is or compressed by gzip, deflate or br.',
      )),
    ...refused('invalid', 'Fields are missing or invalid; all of them are named.'),
    ...refused(
      'too-many',
      'Too many pushes to this channel, accepted ones or refused ones; or too many wrong tokens from this address, and too many others wait for their turn.',
    ),
    ...refused('unavailable', 'Shutting down, or it cannot be kept durably now. Push again.'),
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
  Poll: 'The records in force. Role poll.',
  Watch: 'The records as they change; see /asyncapi.json too. Role watch; reports of players: role poll.',
  History: 'What was on air. Role poll.',
  Hear: 'The streams, playlists and statistics of them. Role stream.',
  Encode:
    "Encoders' own titles. Role encoder; encoders read plain text and a status. Their audio comes by PUT or SOURCE to a mount.",
  Operate: 'Alive and ready: at every address. Figures: role ops, or a peer on this machine.',
  Admin: 'To see and to act, with credentials. Role admin, or a peer on this machine.',
  Documents: 'At every address.',
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
        'Push the titles of radio streams, and read them by polling, WebSocket or server-sent events, whose messages are at [/docs/messages](/docs/messages) (/asyncapi.json). ' +
        'Refusals are problem+json (RFC 9457); 401, 403, 404 and 503 for which Accept names text/html are a page. A method that a path does not take is answered with 405 and Allow. ' +
        'What is read by GET is answered to HEAD too, without the body; a push is not (405). Reads answer OPTIONS as a CORS preflight of pages of any origin. ' +
        'Where there is no room for another connection it is 503 with Retry-After, and the connection is closed. ' +
        'A deprecated host (role legacy) serves push, poll, watch and stream too, and says so by Deprecation, Sunset and Link.',
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
          description: 'The push token, so that it need not stand in a URL.',
        },
        adminPassword: { type: 'http', scheme: 'basic', description: 'A user of admin.users, and its password.' },
        adminToken: { type: 'http', scheme: 'bearer', description: 'A token of a user of admin.users.' },
        encoder: {
          type: 'http',
          scheme: 'basic',
          description: "The user source or the encoder's own, and its password.",
        },
      },
    },
  };
}
