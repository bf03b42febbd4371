/** The OpenAPI document's part for operators (http/ops.ts), documents (http/document-routes.ts) and client modules (http/page/client-modules.ts). */

import { COUNT, type Json, TEXT } from './json.js';
import { ifNoneMatch, inQuery, ref, TEXT_TYPE } from './parameters.js';
import {
  ANY_ORIGIN,
  content,
  ETAG,
  header,
  JSON_TYPE,
  NO_STORE,
  ok,
  operation,
  type RouteDocs,
  refused,
} from './responses.js';

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

const PLAIN = content(TEXT_TYPE, TEXT);

export const healthz: RouteDocs = () =>
  operation('Operate', 'healthz', 'Whether the server is alive', ok(PLAIN, NO_STORE, 'Alive.'));

export const readyz: RouteDocs = () => {
  const listing = { ...PLAIN, ...content(JSON_TYPE, { anyOf: [ref('Readiness'), ref('ClusterReadiness')] }) };
  const responses = {
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
  return operation('Operate', 'readyz', isReady, responses, { parameters: [CHANNELS, SILENT_SECONDS, CLUSTER] });
};

export const metrics: RouteDocs = () => {
  const figures = ok(content('text/plain', TEXT), NO_STORE, 'For Prometheus.');
  return operation('Operate', 'metrics', 'Metrics, at addresses with the role ops', figures);
};

function kept(operationId: string, summary: string, body: Json, more: Json = {}): Json {
  const headers = {
    ...ANY_ORIGIN,
    'Cache-Control': header('Revalidate with the ETag.', { const: 'no-cache' }),
    ...ETAG,
    ...more,
  };
  const unchanged = { 304: { description: 'Unchanged: the ETag still matches.', headers } };
  const responses = { ...ok(body, headers), ...unchanged };
  return operation('Documents', operationId, summary, responses, { parameters: [ifNoneMatch] });
}

/** Of a document. */
export function ownDocument(operationId: string, summary: string): RouteDocs {
  return () => kept(operationId, summary, content(JSON_TYPE, { type: 'object' }));
}

/** Of a module of the client. */
export function clientModule(operationId: string, what: string): RouteDocs {
  const more = {
    'X-Content-Type-Options': header('Browsers must not guess the type.', { const: 'nosniff' }),
    Vary: header('Accept-Encoding; each encoding has its own ETag.', { const: 'Accept-Encoding' }),
  };
  const script = content('text/javascript; charset=utf-8', TEXT);
  return () => kept(operationId, `An ES module for pages: ${what}`, script, more);
}
