/** The OpenAPI document's part for operators (http/ops.ts), and its documents themselves (http/documents.ts). */

import { content, ifNoneMatch, inQuery, ref, TEXT_TYPE } from './parameters.js';
import { ANYWHERE, header, JSON_TYPE, NO_STORE, refused } from './responses.js';
import type { Json } from './schemas.js';

/** A path that is read, by all that can reach it. */
function read(operationId: string, tag: string, summary: string, responses: Json, parameters: readonly Json[] = []) {
  return { get: { operationId, tags: [tag], summary, parameters, responses: { ...ANYWHERE, ...responses } } };
}

const CHANNELS = inQuery(
  'channels',
  'Whether channels have audio too, as JSON: these, with commas between their keys; empty: all. Up to a second old.',
  { type: 'string' },
);
const SILENT_SECONDS = inQuery('silentSeconds', 'A channel may be without audio for less than this; default 0.', {
  type: 'integer',
  minimum: 0,
  maximum: 86_400,
});

const CLUSTER = inQuery('cluster', 'What this machine knows of the others, as JSON. Up to a second old.', {
  type: 'string',
});

export function operations(): Json {
  const text = (description: string, headers: Json = {}, type = TEXT_TYPE) => ({
    description,
    headers: { ...NO_STORE, ...headers },
    content: content(type, { type: 'string' }),
  });
  const listing = (description: string, headers: Json = {}) => {
    const plain = text(description, headers);
    const either = { anyOf: [ref('Readiness'), ref('ClusterReadiness')] };
    return { ...plain, content: { ...plain.content, ...content(JSON_TYPE, either) } };
  };
  return {
    '/healthz': read('healthz', 'Operate', 'Is it alive?', { '200': text('Yes.') }),
    '/readyz': read(
      'readyz',
      'Operate',
      'Is it ready? With `channels`: is there audio? With `cluster`: what it knows of the other machines.',
      {
        '200': listing('Yes.'),
        '503': listing('No.', { 'Retry-After': header('Seconds.') }),
        ...refused('invalid', 'silentSeconds is not what it must be.'),
        ...refused('not-found', 'There is no such channel, or this server is not in a cluster.'),
      },
      [CHANNELS, SILENT_SECONDS, CLUSTER],
    ),
    '/metrics': read('metrics', 'Operate', 'Figures, at addresses with the role ops', {
      '200': text('For Prometheus.', {}, 'text/plain'),
    }),
  };
}

export function ownDocuments(): Json {
  const headers = {
    'Access-Control-Allow-Origin': header('Pages of any origin may read this.', { const: '*' }),
    'Cache-Control': header('To be asked for again, with its ETag.', { const: 'no-cache' }),
    ETag: header('A strong validator, for If-None-Match.', { type: 'string', pattern: '^"' }),
  };
  const one = (
    operationId: string,
    summary: string,
    body = content(JSON_TYPE, { type: 'object' }),
    more: Json = {},
  ) => {
    const all = { ...headers, ...more };
    return read(
      operationId,
      'Documents',
      summary,
      {
        '200': { description: 'OK', headers: all, content: body },
        '304': { description: 'Not changed since that ETag.', headers: all },
      },
      [ifNoneMatch],
    );
  };
  const script = content('text/javascript; charset=utf-8', { type: 'string' });
  const nosniff = { 'X-Content-Type-Options': header('It is what its type says.', { const: 'nosniff' }) };
  return {
    '/openapi.json': one('openApi', 'This document; to be read by people at /docs'),
    '/asyncapi.json': one('asyncApi', 'What WebSocket and server-sent events send'),
    '/schemas/record.json': one('recordSchema', 'The JSON Schema of the channel record'),
    '/client.js': one(
      'client',
      'An ES module for pages: follow() and attach(), as airsplice/client in Node',
      script,
      nosniff,
    ),
  };
}
