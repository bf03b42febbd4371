/** The OpenAPI document's watching, as far as OpenAPI can say it: how a WebSocket or a stream of events begins. The rest: asyncapi.ts. */

import { type Json, TEXT } from './json.js';
import { inHeader, inQuery, sync } from './parameters.js';
import { readable } from './read-docs.js';
import { ANY_ORIGIN, CORS, content, header, ok, refused } from './responses.js';

const BUSY = refused('unavailable', 'Too many watchers, or the server is shutting down.', CORS);
const SCOPES = { channel: '{channelkey}', station: '{stationkey}', listener: '{metaid}' };

/** WebSocket; what its messages hold is in the AsyncAPI document. */
export function sockets(): Json {
  const responses = {
    101: { description: 'A WebSocket is open; see /asyncapi.json.' },
    ...refused('upgrade-required', 'This is not a WebSocket handshake.', {
      ...CORS,
      Upgrade: header('The protocol to upgrade to.'),
    }),
  };
  const upgrade = [inHeader('Upgrade', 'websocket')];
  return eachScope('/metadata', 'watch', 'WebSocket: the records of one *, one per message', responses, upgrade);
}

/** Server-sent events. */
export function events(): Json {
  const headers = {
    ...ANY_ORIGIN,
    'Cache-Control': header('Never cached.'),
    'X-Accel-Buffering': header('A proxy must pass each event on at once.', { const: 'no' }),
  };
  const unnamed = 'Unnamed events whose data is a record; see /asyncapi.json.';
  const responses = ok(content('text/event-stream', TEXT), headers, unnamed);
  const since = [
    inHeader(
      'Last-Event-ID',
      'The id of the last event seen, so that it is not sent again; EventSource sends it itself.',
    ),
    inQuery('lastEventId', 'The same, for pages that create a new EventSource.'),
  ];
  return eachScope(
    '/metadata/sse',
    'events',
    'Server-sent events: the records of one *, one per event',
    responses,
    since,
  );
}

/** @param summary with * for the scope */
function eachScope(path: string, id: string, summary: string, responses: Json, parameters: readonly Json[]): Json {
  return Object.fromEntries(
    Object.entries(SCOPES).map(([scope, key]) => {
      const isListener = scope === 'listener';
      const wrong = isListener ? refused('invalid', 'Parameters are invalid; all of them are named.', CORS) : {};
      const described = readable(
        'Watch',
        `${id}${scope[0]!.toUpperCase()}${scope.slice(1)}`,
        summary.replace('*', scope),
        { ...responses, ...wrong, ...BUSY },
        { parameters: isListener ? [sync, ...parameters] : parameters },
      );
      return [`${path}/${scope}/${key}`, described];
    }),
  );
}
