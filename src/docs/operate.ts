/** The OpenAPI document's part for operators (http/ops.ts), and its documents themselves (http/document-routes.ts). */

import { COUNT, type Json, TEXT } from './json.js';
import { ifNoneMatch, inQuery, ref, TEXT_TYPE } from './parameters.js';
import { ANY_ORIGIN, content, ETAG, get, header, JSON_TYPE, NO_STORE, ok, refused } from './responses.js';

const CHANNELS = inQuery(
  'channels',
  'Whether channels have audio too, as JSON: these, with commas between their keys; empty: all. Up to a second old.',
);
const SILENT_SECONDS = inQuery('silentSeconds', 'A channel may be without audio for less than this; default 0.', {
  ...COUNT,
  maximum: 86_400,
});
const CLUSTER = inQuery('cluster', 'What this machine knows of the others, as JSON. Up to a second old.');

export function operations(): Json {
  const text = content(TEXT_TYPE, TEXT);
  const listing = { ...text, ...content(JSON_TYPE, { anyOf: [ref('Readiness'), ref('ClusterReadiness')] }) };
  const readiness = {
    ...ok(listing, NO_STORE, 'Yes.'),
    503: { description: 'No.', headers: { ...NO_STORE, 'Retry-After': header('Seconds.') }, content: listing },
    ...refused('invalid', 'silentSeconds is not what it must be.'),
    ...refused('not-found', 'There is no such channel, or this server is not in a cluster.'),
  };
  const isReady = 'Is it ready? With `channels`: is there audio? With `cluster`: what it knows of the other machines.';
  const figures = ok(content('text/plain', TEXT), NO_STORE, 'For Prometheus.');
  return {
    '/healthz': get('Operate', 'healthz', 'Is it alive?', ok(text, NO_STORE, 'Yes.')),
    '/readyz': get('Operate', 'readyz', isReady, readiness, { parameters: [CHANNELS, SILENT_SECONDS, CLUSTER] }),
    '/metrics': get('Operate', 'metrics', 'Figures, at addresses with the role ops', figures),
  };
}

export function ownDocuments(): Json {
  const headers = {
    ...ANY_ORIGIN,
    'Cache-Control': header('To be asked for again, with its ETag.', { const: 'no-cache' }),
    ...ETAG,
  };
  const one = (
    operationId: string,
    summary: string,
    body = content(JSON_TYPE, { type: 'object' }),
    more: Json = {},
  ) => {
    const all = { ...headers, ...more };
    const unchanged = { 304: { description: 'Not changed since that ETag.', headers: all } };
    return get('Documents', operationId, summary, { ...ok(body, all), ...unchanged }, { parameters: [ifNoneMatch] });
  };
  const script = content('text/javascript; charset=utf-8', TEXT);
  const module = 'An ES module for pages: follow() and attach(), as airsplice/client in Node';
  const nosniff = {
    'X-Content-Type-Options': header('It is what its type says.', { const: 'nosniff' }),
    Vary: header('Accept-Encoding; each coding has an ETag of its own.', { const: 'Accept-Encoding' }),
  };
  return {
    '/openapi.json': one('openApi', 'This document; to be read by people at /docs'),
    '/asyncapi.json': one('asyncApi', 'What WebSocket and server-sent events send'),
    '/schemas/record.json': one('recordSchema', 'The JSON Schema of the channel record'),
    '/client.js': one('client', module, script, nosniff),
    '/player.js': one('player', 'An ES module for pages: the element airsplice-player', script, nosniff),
  };
}
