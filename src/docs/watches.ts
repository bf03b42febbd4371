/** The OpenAPI document's watching, as far as OpenAPI can say it: how a WebSocket or a stream of events begins. The rest: asyncapi.ts. */

import { channelKey, content, type inPath, inQuery, metaid, stationKey, sync } from './parameters.js';
import { readable } from './reads.js';
import { CORS, header, refused } from './responses.js';
import type { Json } from './schemas.js';

/** WebSocket; what its messages hold is in the AsyncAPI document. */
export function sockets(): Json {
  return eachScope((scope, name, id, parameters) => {
    const upgrade = { name: 'Upgrade', in: 'header', description: 'websocket', schema: { type: 'string' } };
    const path = readable([id], {
      operationId: `watch${name}`,
      tag: 'Watch',
      summary: `WebSocket: the records of one ${scope}, one a message`,
      parameters: [...parameters, upgrade],
      responses: {
        '101': { description: 'A WebSocket is open; see /asyncapi.json.' },
        ...(scope === 'listener' ? BAD_SYNC : {}),
        ...refused('upgrade-required', 'This is not a WebSocket handshake.', {
          ...CORS,
          Upgrade: header('Which way there is.'),
        }),
        ...BUSY,
      },
    });
    return [`/metadata/${scope}/{${id.name}}`, path];
  });
}

/** Server-sent events. */
export function events(): Json {
  return eachScope((scope, name, id, parameters) => {
    const since = 'What was seen last, so that it is not sent again; EventSource sends it by itself.';
    const path = readable([id], {
      operationId: `events${name}`,
      tag: 'Watch',
      summary: `Server-sent events: the records of one ${scope}, one an event`,
      parameters: [
        ...parameters,
        { name: 'Last-Event-ID', in: 'header', description: since, schema: { type: 'string' } },
        inQuery('lastEventId', 'The same, for pages that make their own EventSource anew.', { type: 'string' }),
      ],
      responses: {
        '200': {
          description: 'Unnamed events whose data is a record; see /asyncapi.json.',
          headers: {
            'Access-Control-Allow-Origin': header('Pages of any origin may read this.', { const: '*' }),
            'Cache-Control': header('Never kept.'),
            'X-Accel-Buffering': header('So that a proxy passes each event on at once.', { const: 'no' }),
          },
          content: content('text/event-stream', { type: 'string' }),
        },
        ...(scope === 'listener' ? BAD_SYNC : {}),
        ...BUSY,
      },
    });
    return [`/metadata/sse/${scope}/{${id.name}}`, path];
  });
}

const BUSY = refused('unavailable', 'Too many watchers, or shutting down.', CORS);
const BAD_SYNC = refused('invalid', 'A parameter is invalid; all such are named.', CORS);

function eachScope(
  make: (scope: string, name: string, id: ReturnType<typeof inPath>, parameters: readonly Json[]) => [string, Json],
): Json {
  return Object.fromEntries([
    make('channel', 'Channel', channelKey, []),
    make('station', 'Station', stationKey, []),
    make('listener', 'Listener', metaid, [sync]),
  ]);
}
