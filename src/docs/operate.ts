/** The OpenAPI document's part for operators (http/ops.ts), and its documents themselves (http/document-routes.ts). */

import { COUNT, type Json, TEXT } from './json.js';
import { ifNoneMatch, inQuery, ref, TEXT_TYPE } from './parameters.js';
import { ANY_ORIGIN, content, ETAG, get, header, JSON_TYPE, NO_STORE, ok, refused } from './responses.js';

const CHANNELS = inQuery(
  'channels',
  'Also checks that these channels have audio: comma-separated keys; empty: all. JSON, up to a second old.',
);
const SILENT_SECONDS = inQuery(
  'silentSeconds',
  'A channel is ready if it has been without audio for fewer seconds than this; default 0.',
  {
    ...COUNT,
    maximum: 86_400,
  },
);
const CLUSTER = inQuery('cluster', 'The cluster as this machine sees it, as JSON, up to a second old.');

export function operations(): Json {
  const text = content(TEXT_TYPE, TEXT);
  const listing = { ...text, ...content(JSON_TYPE, { anyOf: [ref('Readiness'), ref('ClusterReadiness')] }) };
  const readiness = {
    ...ok(listing, NO_STORE, 'Ready.'),
    503: {
      description: 'Not ready.',
      headers: { ...NO_STORE, 'Retry-After': header('Seconds to wait.') },
      content: listing,
    },
    ...refused('invalid', 'silentSeconds is invalid.'),
    ...refused('not-found', 'There is no such channel, or this server is not in a cluster.'),
  };
  const isReady =
    'Whether the server is ready; with `channels`, whether these have audio; with `cluster`, the state of the cluster';
  const figures = ok(content('text/plain', TEXT), NO_STORE, 'For Prometheus.');
  return {
    '/healthz': get('Operate', 'healthz', 'Whether the server is alive', ok(text, NO_STORE, 'Alive.')),
    '/readyz': get('Operate', 'readyz', isReady, readiness, { parameters: [CHANNELS, SILENT_SECONDS, CLUSTER] }),
    '/metrics': get('Operate', 'metrics', 'Metrics, at addresses with the role ops', figures),
  };
}

export function ownDocuments(): Json {
  const headers = {
    ...ANY_ORIGIN,
    'Cache-Control': header('Revalidate with the ETag.', { const: 'no-cache' }),
    ...ETAG,
  };
  const one = (
    operationId: string,
    summary: string,
    body = content(JSON_TYPE, { type: 'object' }),
    more: Json = {},
  ) => {
    const all = { ...headers, ...more };
    const unchanged = { 304: { description: 'Unchanged: the ETag still matches.', headers: all } };
    return get('Documents', operationId, summary, { ...ok(body, all), ...unchanged }, { parameters: [ifNoneMatch] });
  };
  const script = content('text/javascript; charset=utf-8', TEXT);
  const module = 'An ES module for pages: follow() and attach(), as airsplice/client in Node';
  const nosniff = {
    'X-Content-Type-Options': header('Browsers must not guess the type.', { const: 'nosniff' }),
    Vary: header('Accept-Encoding; each encoding has its own ETag.', { const: 'Accept-Encoding' }),
  };
  return {
    '/openapi.json': one('openApi', 'This document; a page for people is at /docs'),
    '/asyncapi.json': one('asyncApi', 'What WebSocket and server-sent events send'),
    '/schemas/record.json': one('recordSchema', 'The JSON Schema of the channel record'),
    '/client.js': one('client', module, script, nosniff),
    '/player.js': one('player', 'An ES module for pages: the element airsplice-player', script, nosniff),
  };
}
