/** The OpenAPI document's admin interface (http/admin/README.md). */

import {
  BLOCK,
  CHANNEL,
  count,
  ended,
  FALLBACK,
  HELD_PUSH,
  LISTENER,
  list,
  MADE,
  ONE_CHANNEL,
  object,
  REFUSAL,
  SESSION,
  SOURCES,
  TOKEN,
  text,
  texts,
  UPSTREAM,
  USER,
  WATCHER,
} from './admin-schemas.js';
import { content, inPath, inQuery } from './parameters.js';
import { ANYWHERE, header, JSON_TYPE, NO_STORE, refused } from './responses.js';
import type { Json } from './schemas.js';

const EVENTS_TYPE = 'text/event-stream';
const XML_TYPE = 'text/xml; charset=utf-8';
export const SECURITY = [{ adminPassword: [] }, { adminToken: [] }];
const NOT_THERE = refused('not-found', 'What it is about is not there.');
/** Of what needs a user. */
export const REFUSED: Json = {
  ...refused('unauthorized', 'Without credentials, or with wrong ones.', {
    'WWW-Authenticate': header('Basic and Bearer; Bearer alone where X-Requested-With is sent.'),
  }),
  ...refused('not-allowed', 'The user has not the right, or a page of another origin asks.'),
  ...refused('too-many', 'Too many wrong secrets from this address; or there are as many of these as there may be.'),
  ...refused('unavailable', 'A part of the server is being restarted, or it has no room for this.'),
};

const channel = inPath('channelkey', "A channel's key.", text);
const id = inPath('id', 'As it was listed.', text);
const limit = inQuery('limit', 'How many at most.', { type: 'integer', minimum: 1, maximum: 1000, default: 100 });
const FILTER: Readonly<Record<string, Json>> = {
  channel: text,
  address: { ...text, description: 'An address or a network.' },
  agent: { ...text, description: 'A part of the user agent, in any case.' },
};

interface ReadDocument {
  readonly parameters?: readonly Json[];
  readonly type?: string;
  readonly description?: string;
  /** Beside those that all have. */
  readonly refusals?: Json;
}

const WRONG = refused('invalid', 'A parameter is wrong; all such are named.');

/** What is seen with the right `read`. */
function read(
  operationId: string,
  summary: string,
  schema: Json,
  { parameters = [], type = JSON_TYPE, refusals = parameters.length > 0 ? WRONG : {}, ...more }: ReadDocument = {},
) {
  const responses = {
    ...ANYWHERE,
    ...REFUSED,
    ...refusals,
    '200': { description: 'OK', headers: NO_STORE, content: content(type, schema) },
  };
  return { get: { operationId, tags: ['Admin'], summary, ...more, security: SECURITY, parameters, responses } };
}

interface ActDocument {
  readonly operationId: string;
  readonly summary: string;
  readonly right: 'titles' | 'operate' | 'titles and operate';
  readonly parameters?: readonly Json[];
  /** Absent: it takes none. */
  readonly body?: Json;
  /** Absent: 204. */
  readonly answer?: Json;
  readonly status?: 200 | 201;
}

function act({ operationId, summary, right, parameters = [], body, answer, status = 200 }: ActDocument): Json {
  const done = answer === undefined ? { '204': { description: 'Done.', headers: NO_STORE } } : {};
  return {
    operationId,
    tags: ['Admin'],
    summary: `${summary} (${right.includes(' ') ? 'rights' : 'right'} ${right})`,
    security: SECURITY,
    parameters,
    ...(body === undefined ? {} : { requestBody: { required: true, content: content('application/json', body) } }),
    responses: {
      ...ANYWHERE,
      ...REFUSED,
      ...(body === undefined ? {} : refused('bad-request', 'The body is not JSON.')),
      ...NOT_THERE,
      ...refused('conflict', 'Not possible as things are.'),
      ...refused('too-large', 'The body is too large.'),
      ...refused('unsupported-media-type', 'The body has to be JSON.'),
      ...refused('invalid', 'Fields are missing or wrong; all of them are named.'),
      ...done,
      ...(answer === undefined
        ? {}
        : { [status]: { description: 'Done.', headers: NO_STORE, content: content(JSON_TYPE, answer) } }),
    },
  };
}

function sees(): Json {
  const filters = Object.entries(FILTER).map(([name, { description = 'Only of this channel.', ...schema }]) =>
    inQuery(name, String(description), schema),
  );
  const offset = inQuery('offset', 'How many are left out.', { ...count, default: 0 });
  const stream = (what: string): Json => ({ type: 'string', description: what });
  const events = stream(
    'Events `snapshot` ({channels}), then `change` ({channels, gone}) about once a second where something has changed.',
  );
  const lines = stream('Events `line`: {atMs, process, line}.');
  const lineCount = inQuery('lines', 'How many of the last ones come first.', {
    ...count,
    maximum: 10_000,
    default: 100,
  });
  return {
    '/admin/api/self': read('adminSelf', 'The user that asks, and its rights', USER),
    '/admin/api/channels': read('adminChannels', 'Every channel: sources, listeners, titles', list(CHANNEL)),
    '/admin/api/channels/{channelkey}': {
      parameters: [channel],
      ...read('adminChannel', 'One channel in depth', ONE_CHANNEL, { refusals: NOT_THERE }),
    },
    '/admin/api/listeners': read(
      'adminListeners',
      'Connections that listen, oldest first',
      object({ total: count, offset: count, listeners: list(LISTENER) }),
      { parameters: [...filters, limit, offset] },
    ),
    '/admin/api/sessions': read('adminSessions', 'Listeners with a metaid, and what they hear', list(SESSION), {
      parameters: [filters[0]!, limit],
    }),
    '/admin/api/watchers': read('adminWatchers', 'Who watches titles', list(WATCHER), { parameters: [limit] }),
    '/admin/api/upstreams': read('adminUpstreams', 'Pulled sources', list(UPSTREAM)),
    '/admin/api/held': read('adminHeld', 'Pushes that wait for their time', list(HELD_PUSH)),
    '/admin/api/refusals': read('adminRefusals', 'Who was refused last, newest first', list(REFUSAL)),
    '/admin/api/events': read('adminEvents', 'The channels, live', events, { type: EVENTS_TYPE }),
    '/admin/api/log': read('adminLog', "The log's lines, live", lines, { type: EVENTS_TYPE, parameters: [lineCount] }),
  };
}

function titleActs(): Json {
  const right = 'titles';
  const at = `/admin/api/channels/{channelkey}`;
  return {
    [`${at}/titles`]: {
      parameters: [channel],
      post: act({
        operationId: 'adminPush',
        right,
        summary: 'Push a title; with the id of the one in force, correct it',
        body: { $ref: '#/components/schemas/PushBody' },
        answer: { $ref: '#/components/schemas/PushAnswer' },
      }),
    },
    [`${at}/titles/now`]: {
      parameters: [channel],
      delete: act({ operationId: 'adminClear', right, summary: 'Clear the title in force' }),
    },
    [`${at}/titles/next`]: {
      parameters: [channel],
      delete: act({ operationId: 'adminWithdrawNext', right, summary: 'Withdraw the following title' }),
    },
    [`${at}/held/{id}`]: {
      parameters: [channel, id],
      delete: act({ operationId: 'adminWithdrawHeld', right, summary: 'Withdraw a push that waits for its time' }),
    },
  };
}

function connectionActs(): Json {
  const right = 'operate';
  const filter = {
    type: 'object',
    properties: { ids: texts, ...FILTER },
    additionalProperties: false,
    minProperties: 1,
  };
  const move = { ...filter, required: ['to'], properties: { ...filter.properties, to: text } };
  return {
    '/admin/api/listeners/end': {
      post: act({
        operationId: 'adminEndListeners',
        right,
        summary: 'End the listeners that fit all that is said',
        body: filter,
        answer: ended,
      }),
    },
    '/admin/api/listeners/move': {
      post: act({
        operationId: 'adminMoveListeners',
        right,
        summary: 'Let them go on at another channel, on the same connection',
        body: move,
        answer: object({
          moved: count,
          refused: { ...count, description: 'Of another format, or without audio there.' },
        }),
      }),
    },
    '/admin/api/listeners/{id}': {
      parameters: [id],
      delete: act({ operationId: 'adminEndListener', right, summary: 'End one listener' }),
    },
    '/admin/api/channels/{channelkey}/encoder': {
      parameters: [channel],
      delete: act({
        operationId: 'adminEndEncoder',
        right,
        summary: "End its encoder's connection; it may come again",
      }),
    },
    '/admin/api/channels/{channelkey}/encoder/move': {
      parameters: [channel],
      post: act({
        operationId: 'adminMoveEncoder',
        right,
        summary: 'Its encoder goes on as that of another channel, on the same connection',
        body: {
          ...object({ to: { ...text, description: 'A channel that takes an encoder, and has none now.' } }),
          additionalProperties: false,
        },
      }),
    },
    '/admin/api/channels/{channelkey}/source': {
      parameters: [channel],
      post: act({
        operationId: 'adminChooseSource',
        right,
        summary: 'Play this source until it is released or lost',
        body: object({ place: count }),
        answer: SOURCES,
      }),
      delete: act({
        operationId: 'adminReleaseSource',
        right,
        summary: 'The best source plays again',
        answer: SOURCES,
      }),
    },
  };
}

function fallbackActs(): Json {
  const right = 'operate';
  return {
    '/admin/api/channels/{channelkey}/fallback': {
      parameters: [channel],
      put: act({
        operationId: 'adminSetFallback',
        right,
        summary: 'Let another mount stand in while the channel has no audio',
        body: object({ to: { ...text, pattern: '^/', description: 'A mount of another channel.' } }),
        answer: FALLBACK,
      }),
      delete: act({ operationId: 'adminRemoveFallback', right, summary: 'Nothing stands in for it any more' }),
    },
  };
}

function blocksAndTokens(): Json {
  const right = 'operate';
  const makes = 'titles and operate';
  const block = {
    type: 'object',
    required: ['network', 'seconds'],
    properties: { network: text, seconds: { ...count, minimum: 1 }, reason: text },
    additionalProperties: false,
  };
  const rotate = { type: 'object', properties: { keepSeconds: count }, additionalProperties: false };
  return {
    '/admin/reload': {
      post: act({
        operationId: 'adminReload',
        right,
        summary: 'Read the configuration again, and put it in force',
        answer: object({ changes: texts }),
      }),
    },
    '/admin/api/blocks': {
      ...read('adminBlocks', 'Addresses and networks that are blocked', list(BLOCK)),
      post: act({
        operationId: 'adminBlock',
        right,
        summary: 'Refuse connections from there for a time, and end its listeners',
        body: block,
        answer: { allOf: [BLOCK, ended] },
        status: 201,
      }),
    },
    '/admin/api/blocks/{network}': {
      parameters: [inPath('network', 'As it was blocked, percent-encoded.', text)],
      delete: act({ operationId: 'adminUnblock', right, summary: 'Let them come again' }),
    },
    '/admin/api/tokens': read('adminTokens', 'Push tokens, and when each was used last', list(TOKEN)),
    '/admin/api/channels/{channelkey}/tokens': {
      parameters: [channel],
      post: act({
        operationId: 'adminMakeToken',
        right: makes,
        summary: 'Make a push token',
        body: object({ name: text }),
        answer: MADE,
        status: 201,
      }),
    },
    '/admin/api/tokens/{id}/rotate': {
      parameters: [id],
      post: act({
        operationId: 'adminRotateToken',
        right: makes,
        summary: 'Make one in its place; it stays right for keepSeconds',
        body: rotate,
        answer: MADE,
        status: 201,
      }),
    },
    '/admin/api/tokens/{id}': {
      parameters: [id],
      delete: act({ operationId: 'adminRevokeToken', right, summary: 'Revoke one that was made here' }),
    },
  };
}

export function administration(): Json {
  return { ...sees(), ...titleActs(), ...connectionActs(), ...fallbackActs(), ...blocksAndTokens(), ...icecastAdmin() };
}

const NO_SOURCE = refused('bad-request', 'A parameter is missing, or there is no such source.');

/** Of the forms of http/admin/icecast-answer.ts a path of its own is described where it answers a read otherwise. */
const ALSO = 'The same with .xml or .xsl behind the path.';
const ACTS_ALSO = `${ALSO} With .json as JSON.`;

/** Icecast's own paths: XML as 2.4.4 has it. */
function icecastAdmin(): Json {
  const mount = inQuery('mount', 'A mount; needed for listclients.', text);
  const listeners = inQuery('with_listeners', 'Where it is there, sources hold their listeners (Icecast-KH).', text);
  const reads = ['stats', 'listmounts', 'listclients'].flatMap((name): [string, Json][] => {
    const more = { parameters: name === 'listmounts' ? [listeners] : [mount], refusals: NO_SOURCE };
    const summary = `Icecast's ${name}`;
    return [
      [`/admin/${name}`, read(`icecast-${name}`, summary, text, { ...more, type: XML_TYPE, description: ALSO })],
      [`/admin/${name}.json`, read(`icecast-${name}-json`, `${summary} as JSON`, { type: 'object' }, more)],
    ];
  });
  const acts = ['killclient', 'killsource', 'moveclients', 'fallbacks'].map((name): [string, Json] => {
    const parameters = ['mount', 'id', 'destination', 'fallback'].map((each) => inQuery(each, "As Icecast's.", text));
    const responses = {
      ...ANYWHERE,
      ...REFUSED,
      ...NO_SOURCE,
      ...refused('too-large', 'The body is too large.'),
      ...refused('unsupported-media-type', 'The body has to be a form.'),
      '200': { description: '`return` is 1 where it was done.', headers: NO_STORE, content: content(XML_TYPE, text) },
    };
    const summary = `Icecast's ${name} (right operate)`;
    const one = { tags: ['Admin'], summary, description: ACTS_ALSO, security: SECURITY, parameters, responses };
    const [get, post] = [`icecast-${name}`, `icecast-${name}-post`];
    return [`/admin/${name}`, { get: { operationId: get, ...one }, post: { operationId: post, ...one } }];
  });
  return Object.fromEntries([...reads, ...acts]);
}
