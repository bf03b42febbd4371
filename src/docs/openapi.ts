/**
 * The OpenAPI 3.1 document: every path of the interface with its parameters, answers and headers. Built at start from the schemas that
 * validate and from the limits of the configuration. test/docs/documents.test.ts drives the server through all of it, and the whole
 * test suite's answers are checked against it, so it cannot drift.
 */

import { setImmediate } from 'node:timers/promises';
import { measured } from '../base/watchdog.js';
import type { PushLimits } from '../metadata/push-schema.js';
import { administration } from './admin.js';
import { hoisted } from './components.js';
import { encoders } from './encoders.js';
import { reports } from './heard.js';
import { operations, ownDocuments } from './operate.js';
import { channelKey, content, contentType, inPath, inQuery, METAID_SCHEMA, ref } from './parameters.js';
import { histories, polls, type ReadLimits, readable } from './reads.js';
import { ANYWHERE, header, JSON_TYPE, refused } from './responses.js';
import { type Json, type ObjectSchema, type Schemas, schemas } from './schemas.js';
import { listenerStatistics } from './statistics.js';
import { playlists, statistics } from './tune-in.js';
import { events, sockets } from './watches.js';

const token = inPath('token', "A push token of the channel's.", { type: 'string' });

/** A push, by GET or POST, with the token in the path or as a bearer. */
function push(method: 'get' | 'post', bearer: boolean, all: Schemas): Json {
  const form = method === 'post' ? 'JSON or a form' : 'parameters';
  return {
    operationId: `push${method === 'post' ? 'Post' : 'Get'}${bearer ? 'Bearer' : ''}`,
    tags: ['Push'],
    summary: `Push a title as ${form}${bearer ? ', the token in a header' : ''}`,
    ...(bearer ? { security: [{ pushToken: [] }] } : {}),
    ...(method === 'get'
      ? { parameters: parametersOf(all.PushQuery) }
      : {
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
        }),
    responses: {
      ...ANYWHERE,
      ...refused(
        'bad-request',
        'It has a broken percent-encoding, or is not JSON. Fields that cannot be read are named.',
      ),
      '200': {
        description:
          'It is committed. Unless it waits for its time, or titles of readers are delayed, the readers of this server that keep up have been written to.',
        headers: {
          'Content-Type': contentType,
          'Cache-Control': header('Never kept.', { const: 'no-store' }),
          'Airsplice-Ignored': header(
            'Where fields were not taken: unknown parameters, placeholders that were not filled in, a timezone or encoding that is not known, a time or duration that cannot be read, covers and images that are not http(s) URLs. Their names, percent-encoded.',
            { type: 'string' },
            false,
          ),
        },
        content: content(JSON_TYPE, ref('PushAnswer')),
      },
      ...refused(
        'forbidden',
        'The channel is unknown or the token is not its own: one answer, in the same time.',
        bearer ? { 'WWW-Authenticate': header('Which way there is.', { const: 'Bearer' }) } : {},
      ),
      ...refused('too-large', 'The body, a text or extdata is too large.'),
      ...(method === 'post'
        ? refused(
            'unsupported-media-type',
            'The body has to be JSON or a form, as it is or compressed by gzip, deflate or br.',
          )
        : {}),
      ...refused('invalid', 'Fields are missing or invalid; all of them are named.'),
      ...refused(
        'too-many',
        'Too many pushes to this channel, accepted ones or refused ones; or too many wrong tokens from this address, and too many others wait for their turn.',
      ),
      ...refused('unavailable', 'Shutting down, or it cannot be kept durably now. Push again.'),
    },
  };
}

/** One parameter for each field of a GET push. */
function parametersOf({ properties }: ObjectSchema): Json[] {
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    ...inQuery(name, String(description), schema),
  }));
}

/** Bytes without end. */
const AUDIO: Json = { type: 'string', format: 'binary' };

function streams(): Json {
  const headers = {
    'Access-Control-Allow-Origin': header('Pages of any origin may read this.', { const: '*' }),
    'Access-Control-Expose-Headers': header('icy-metaint among them.'),
    'X-Channelkey': header("The channel's key."),
    'icy-metaint': header(
      'Bytes of audio between two blocks of titles, about a quarter of a second; only when asked for, in Ogg only where the channel sends them.',
      { type: 'string' },
      false,
    ),
    'icy-name': header("The channel's name, or its key."),
    'icy-genre': header('Its genre.', { type: 'string' }, false),
    'icy-url': header("The station's page.", { type: 'string' }, false),
    'icy-description': header('What it is about.', { type: 'string' }, false),
    'icy-pub': header('1: directories may list it.'),
    'icy-br': header('kb/s.', { type: 'string' }, false),
    'ice-audio-info': header(
      'What the source says; also bitrate=…;samplerate=…;channels=… by its frames.',
      { type: 'string' },
      false,
    ),
    Server: header('As configured.'),
    'Accept-Ranges': header('none: a stream has no parts.'),
    'Cache-Control': header('Never kept.'),
    Pragma: header('The same, for old players.'),
    Expires: header('The same; a time that has passed.'),
  };
  const anyOrigin = { 'Access-Control-Allow-Origin': header('Pages of any origin may read this.', { const: '*' }) };
  const challenge = { ...anyOrigin, 'WWW-Authenticate': header('Which way there is.', { pattern: '^Basic ' }) };
  const path = readable([inPath('mount', 'A mount, which may hold slashes, or a channel key.', { type: 'string' })], {
    operationId: 'hear',
    tag: 'Hear',
    summary: 'The stream',
    description:
      'It never ends. Configured headers are added, and replace these. No OpenAPI can say what ICY blocks are.',
    parameters: [
      inQuery('metaid', 'Names this listener, for the listener scope.', METAID_SCHEMA),
      inQuery('sabcsid', 'The older name of metaid.', { ...METAID_SCHEMA, deprecated: true }),
      inQuery('expires', 'Of a signed URL: until when, in unix seconds.', { type: 'string', pattern: '^\\d{1,12}$' }),
      inQuery('sig', 'Of a signed URL: its signature.', { type: 'string', pattern: '^[0-9A-Fa-f]{64}$' }),
      { name: 'Icy-MetaData', in: 'header', description: '1: with titles.', schema: { type: 'string' } },
    ],
    responses: {
      '200': {
        description: 'Audio.',
        headers,
        content: {
          ...content('audio/mpeg', AUDIO),
          ...content('audio/aac', AUDIO),
          ...content('audio/ogg', AUDIO),
          ...content('application/ogg', AUDIO),
        },
      },
      ...refused('unavailable', 'No audio now, or no room.', anyOrigin),
      ...refused(
        'not-admitted',
        "The URL has to be signed, or the operator's service refuses the listener.",
        anyOrigin,
      ),
      ...refused('not-found', 'There is no such mount.'),
      '302': {
        description: 'There is no room here, and another node may have some.',
        headers: {
          ...anyOrigin,
          Location: header('The stream there.'),
          'Cache-Control': header('Never kept.', { const: 'no-store' }),
        },
      },
      ...refused('unauthorized', "The operator's service refuses a listener that has not named itself.", challenge),
    },
  });
  return { '/{mount}': path };
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

/** Every path, without HEAD and OPTIONS, which would be half of all operations of a generated client: words say what they answer. @param limits of a push and of reads, described in their fields */
export function paths(limits: PushLimits & ReadLimits, all = schemas(limits)): Json {
  return {
    '/metapush/{channelkey}/{token}': {
      parameters: [channelKey, token],
      get: push('get', false, all),
      post: push('post', false, all),
    },
    '/metapush/{channelkey}': {
      parameters: [channelKey],
      get: push('get', true, all),
      post: push('post', true, all),
    },
    ...polls(),
    ...sockets(),
    ...events(),
    ...reports(),
    ...histories(limits),
    ...streams(),
    ...playlists(),
    ...statistics(),
    ...encoders(),
    ...operations(),
    ...administration(),
    ...listenerStatistics(),
    ...ownDocuments(),
  };
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
        'Push the titles of radio streams, and read them by polling, WebSocket (see /asyncapi.json) or server-sent events. ' +
        'Refusals are problem+json (RFC 9457). A method that a path does not take is answered with 405 and Allow. ' +
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
