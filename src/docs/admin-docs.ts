/** The OpenAPI document's admin interface (http/admin/README.md). */

import {
  CHANNEL,
  ended,
  HELD_PUSH,
  MADE,
  ONE_CHANNEL,
  rowShapes,
  SOURCES,
  TOKEN,
  texts,
  UPSTREAM,
  USER,
} from './admin-schemas.js';
import { COUNT, count, type Json, list, object, TEXT, text } from './json.js';
import { inQuery, ref } from './parameters.js';
import {
  content,
  get,
  header,
  JSON_TYPE,
  type More,
  NO_STORE,
  ok,
  operation,
  RETRY_AFTER,
  refused,
} from './responses.js';

const EVENTS_TYPE = 'text/event-stream';
const XML_TYPE = 'text/xml; charset=utf-8';
export const SECURITY = [{ adminPassword: [] }, { adminToken: [] }];
const NOT_THERE = refused('not-found', 'There is no such object.');
const WRONG = refused('invalid', 'Parameters are invalid; all of them are named.');
const NO_SOURCE = refused('bad-request', 'A parameter is missing, or there is no such source.');
/** Of what needs a user. */
export const REFUSED: Json = {
  ...refused('unauthorized', 'Credentials are missing or wrong.', {
    'WWW-Authenticate': header('Basic and Bearer; only Bearer if X-Requested-With was sent.'),
  }),
  ...refused('not-allowed', 'The user lacks the right, or the request comes from a page of another origin.'),
  ...refused('too-many', 'Too many wrong secrets from this address; or the limit on such objects is reached.', {
    'Retry-After': { ...RETRY_AFTER, required: false },
  }),
  ...refused('unavailable', 'A part of the server is restarting, or has no room for this.'),
};

const limit = inQuery('limit', 'The maximum number of rows.', {
  type: 'integer',
  minimum: 1,
  maximum: 1000,
  default: 100,
});
const offset = inQuery('offset', 'Number of rows to skip.', { ...COUNT, default: 0 });
const lines = inQuery('lines', 'Number of past lines to send first.', { ...COUNT, maximum: 10_000, default: 100 });
const ADDRESS = 'An address or a network.';
const AGENT = 'A part of the user agent, case-insensitive.';
const channel = inQuery('channel', 'Only this channel.');
const listeners = [channel, inQuery('address', ADDRESS), inQuery('agent', AGENT), limit, offset];
/** Of an act that is about some listeners. */
const FILTER = {
  type: 'object',
  properties: { ids: texts, channel: TEXT, address: text(ADDRESS), agent: text(AGENT) },
  additionalProperties: false,
  minProperties: 1,
};
const MOVE = { ...FILTER, required: ['to'], properties: { ...FILTER.properties, to: TEXT } };
const MOVED = object({ moved: COUNT, refused: count('Not moved: another format, or no audio there.') });
const MOVE_ENCODER = {
  ...object({ to: text('A channel that accepts an encoder, and has none now.') }),
  additionalProperties: false,
};
const STAND_IN = object({ to: { ...text('A mount of another channel.'), pattern: '^/' } });
const NEW_BLOCK = {
  type: 'object',
  required: ['network', 'seconds'],
  properties: { network: TEXT, seconds: { ...COUNT, minimum: 1 }, reason: TEXT },
  additionalProperties: false,
};
const ROTATE = { type: 'object', properties: { keepSeconds: COUNT }, additionalProperties: false };

type RowShapes = ReturnType<typeof rowShapes>;

/** What is seen with the right `read`. @param refusals beside those that all have */
function read(id: string, summary: string, body: Json, refusals: Json = {}, more: More = {}): Json {
  return get('Admin', id, summary, { ...REFUSED, ...refusals, ...ok(body) }, { ...more, security: SECURITY });
}

const json = (schema: Json) => content(JSON_TYPE, schema);
const readJson = (id: string, summary: string, schema: Json, parameters: readonly Json[] = []) =>
  read(id, summary, json(schema), parameters.length > 0 ? WRONG : {}, { parameters });

interface ActBodies {
  /** Absent: it takes none. */
  readonly body?: Json;
  /** Absent: 204. */
  readonly answer?: Json;
  readonly status?: 200 | 201;
}

/** `any`: every user may. */
type ActRights = 'any' | 'titles' | 'operate' | 'titles and operate';

function act(right: ActRights, id: string, summary: string, { body, answer, status = 200 }: ActBodies = {}): Json {
  const done = { description: 'Done.', headers: NO_STORE };
  const responses = {
    ...REFUSED,
    ...(body && refused('bad-request', 'The body is not JSON.')),
    ...NOT_THERE,
    ...refused('conflict', 'Not possible in the present state.'),
    ...refused('too-large', 'The body is too large.'),
    ...refused('unsupported-media-type', 'The body must be JSON.'),
    ...refused('invalid', 'Fields are missing or wrong; all of them are named.'),
    ...(answer === undefined ? { 204: done } : { [status]: { ...done, content: json(answer) } }),
  };
  const rights = right === 'any' ? 'any right' : `${right.includes(' ') ? 'rights' : 'right'} ${right}`;
  return operation('Admin', id, `${summary} (${rights})`, responses, {
    security: SECURITY,
    ...(body && { requestBody: { required: true, content: content('application/json', body) } }),
  });
}

function reads({ LISTENER, SESSION, WATCHER, REFUSAL }: RowShapes): Json {
  const events = text(
    'Events `snapshot` ({channels}), then `change` ({channels, gone}) about once a second if something changed; `alive` after 20 seconds without an event.',
  );
  const log = text('Events `line`: {atMs, process, line}; `alive` after 20 seconds without an event.');
  const page = object({ total: COUNT, offset: COUNT, listeners: list(LISTENER) });
  return {
    '/admin/api/self': readJson('adminSelf', 'The user of this request, and its rights', USER),
    '/admin/api/channels': readJson('adminChannels', 'Every channel: sources, listeners, titles', list(CHANNEL)),
    '/admin/api/channels/{channelkey}': read('adminChannel', 'Details of one channel', json(ONE_CHANNEL), NOT_THERE),
    '/admin/api/listeners': readJson('adminListeners', 'Listener connections, oldest first', page, listeners),
    '/admin/api/sessions': readJson('adminSessions', 'Listeners with a metaid, and what they hear', list(SESSION), [
      channel,
      limit,
    ]),
    '/admin/api/watchers': readJson('adminWatchers', 'Clients that watch titles', list(WATCHER), [limit]),
    '/admin/api/upstreams': readJson('adminUpstreams', 'Pulled sources', list(UPSTREAM)),
    '/admin/api/held': readJson('adminHeld', 'Pushes that wait for their time', list(HELD_PUSH)),
    '/admin/api/refusals': readJson('adminRefusals', 'Recent refusals, newest first', list(REFUSAL)),
    '/admin/api/events': read('adminEvents', 'The channels, live', content(EVENTS_TYPE, events)),
    '/admin/api/log': read('adminLog', "The log's lines, live", content(EVENTS_TYPE, log), WRONG, {
      parameters: [lines],
    }),
    '/admin/api/tokens': readJson('adminTokens', 'Push tokens, and the last use of each', list(TOKEN)),
  };
}

function acts({ BLOCK, FALLBACK }: RowShapes): Json {
  const at = '/admin/api/channels/{channelkey}';
  const [titles, operate, makes] = ['titles', 'operate', 'titles and operate'] as const;
  const push = { body: ref('PushBody'), answer: ref('PushAnswer') };
  const blocked = { body: NEW_BLOCK, answer: { allOf: [BLOCK, ended] }, status: 201 } as const;
  const made = { answer: MADE, status: 201 } as const;
  return {
    [`${at}/titles`]: {
      post: act(titles, 'adminPush', 'Push a title; the id of the current one corrects it', push),
    },
    [`${at}/titles/now`]: { delete: act(titles, 'adminClear', 'Clear the current title') },
    [`${at}/titles/next`]: { delete: act(titles, 'adminWithdrawNext', 'Withdraw the following title') },
    [`${at}/held/{id}`]: {
      delete: act(titles, 'adminWithdrawHeld', 'Withdraw a push that waits for its time'),
    },
    '/admin/api/listeners/end': {
      post: act(operate, 'adminEndListeners', 'End the listeners that match all members of the body', {
        body: FILTER,
        answer: ended,
      }),
    },
    '/admin/api/listeners/move': {
      post: act(operate, 'adminMoveListeners', 'Move listeners to another channel, on the same connection', {
        body: MOVE,
        answer: MOVED,
      }),
    },
    '/admin/api/listeners/{id}': { delete: act(operate, 'adminEndListener', 'End one listener') },
    [`${at}/encoder`]: {
      delete: act(operate, 'adminEndEncoder', "End the encoder's connection; it may reconnect"),
    },
    [`${at}/encoder/move`]: {
      post: act(operate, 'adminMoveEncoder', 'Move the encoder to another channel, on the same connection', {
        body: MOVE_ENCODER,
      }),
    },
    [`${at}/source`]: {
      post: act(operate, 'adminChooseSource', 'Play this source until it is released or lost', {
        body: object({ place: COUNT }),
        answer: SOURCES,
      }),
      delete: act(operate, 'adminReleaseSource', 'Release the chosen source; the best one plays again', {
        answer: SOURCES,
      }),
    },
    [`${at}/fallback`]: {
      put: act(operate, 'adminSetFallback', 'Set the mount that stands in while the channel has no audio', {
        body: STAND_IN,
        answer: FALLBACK,
      }),
      delete: act(operate, 'adminRemoveFallback', 'Remove the mount that stands in'),
    },
    '/admin/logout': {
      post: act('any', 'adminLogOut', 'End the login of the operator page that the cookie names'),
    },
    '/admin/reload': {
      post: act(operate, 'adminReload', 'Read the configuration again, and apply it', {
        answer: object({ changes: texts }),
      }),
    },
    '/admin/api/blocks': {
      ...readJson('adminBlocks', 'Blocked addresses and networks', list(BLOCK)),
      post: act(operate, 'adminBlock', 'Block an address or a network for a time, and end its listeners', blocked),
    },
    '/admin/api/blocks/{network}': { delete: act(operate, 'adminUnblock', 'Unblock an address or a network') },
    [`${at}/tokens`]: {
      post: act(makes, 'adminMakeToken', 'Make a push token', { body: object({ name: TEXT }), ...made }),
    },
    '/admin/api/tokens/{id}/rotate': {
      post: act(makes, 'adminRotateToken', 'Replace a push token; the old one stays valid for keepSeconds', {
        body: ROTATE,
        ...made,
      }),
    },
    '/admin/api/tokens/{id}': { delete: act(operate, 'adminRevokeToken', 'Revoke a push token that was made here') },
  };
}

/** Of the forms of http/admin/icecast-answer.ts a path of its own is described where it answers a read otherwise. */
const ALSO = 'Also with .xml or .xsl after the path.';

/** Icecast's own paths: XML as 2.4.4 has it. */
function icecastReads(): Json {
  const mount = inQuery('mount', 'A mount; listclients requires it.');
  const listeners = inQuery('with_listeners', 'If present, sources contain their listeners (Icecast-KH).');
  const reads = ['stats', 'listmounts', 'listclients'].flatMap((name): [string, Json][] => {
    const [id, summary] = [`icecast-${name}`, `Icecast's ${name}`];
    const parameters = [name === 'listmounts' ? listeners : mount];
    const [xml, object] = [content(XML_TYPE, TEXT), json({ type: 'object' })];
    return [
      [`/admin/${name}`, read(id, summary, xml, NO_SOURCE, { parameters, description: ALSO })],
      [`/admin/${name}.json`, read(`${id}-json`, `${summary} as JSON`, object, NO_SOURCE, { parameters })],
    ];
  });
  return Object.fromEntries(reads);
}

function icecastActs(): Json {
  const responses = {
    ...REFUSED,
    ...NO_SOURCE,
    ...refused('too-large', 'The body is too large.'),
    ...refused('unsupported-media-type', 'The body must be a form.'),
    ...ok(content(XML_TYPE, TEXT), NO_STORE, '`return` is 1 if it was done.'),
  };
  const parameters = ['mount', 'id', 'destination', 'fallback'].map((each) => inQuery(each, 'As in Icecast.'));
  const more = { description: `${ALSO} With .json: JSON.`, security: SECURITY, parameters };
  const acts = ['killclient', 'killsource', 'moveclients', 'fallbacks'].map((name): [string, Json] => {
    const one = (id: string) => operation('Admin', id, `Icecast's ${name} (right operate)`, responses, more);
    return [`/admin/${name}`, { get: one(`icecast-${name}`), post: one(`icecast-${name}-post`) }];
  });
  return Object.fromEntries(acts);
}

export function administration(): Json {
  const rows = rowShapes();
  return { ...reads(rows), ...acts(rows), ...icecastReads(), ...icecastActs() };
}
