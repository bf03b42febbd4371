/**
 * The AsyncAPI 3.0 document: what WebSocket and server-sent events send, on the three scopes. Every message of the server's is one record. The test
 * suite's messages are checked against it.
 */

import type { Json } from './json.js';
import type { Schemas } from './schemas.js';

const SCOPES = {
  channel: {
    id: 'channelkey',
    about: "One channel's titles: at once the next one, if there is one, then the current; then every change.",
    of: "The channel's key.",
  },
  station: {
    id: 'stationkey',
    about: 'The titles of all channels of a station: at once each next and each current one; then every change.',
    of: "The station's key.",
  },
  listener: {
    id: 'metaid',
    about:
      'What one listener hears. A page may watch before its stream starts, and stays when that ends. With ?sync=wire a message ' +
      'comes when its title is written to the stream, with the position at which it will be heard: to the millisecond, also of a title ' +
      'that was pushed late.',
    of: 'The id that its player made, 1 to 128 of A-Z a-z 0-9 . _ ~ -, at least 128 random bits.',
  },
} as const;

const SYNC = {
  type: 'object',
  properties: { sync: { enum: ['audio', 'wire'], default: 'audio', description: 'heard, or written' } },
};
const MESSAGES = ['now', 'next'];
/** What a player may say. */
const REPORT = 'heard';

/** What the server gives out: by WebSocket (`ws`) and server-sent events (`sse`), each with its scopes. */
function channelsAndOperations(): { readonly channels: Json; readonly operations: Json } {
  const channels: Record<string, Json> = {};
  const operations: Record<string, Json> = {};
  for (const [scope, { id, about, of }] of Object.entries(SCOPES)) {
    const query = scope === 'listener' ? { query: SYNC } : {};
    for (const server of ['ws', 'sse']) {
      const name = `${server}-${scope}`;
      const takesReports = scope === 'listener' && server === 'ws';
      const names = takesReports ? [...MESSAGES, REPORT] : MESSAGES;
      const message = (each: string) => reference(`channels/${name}/messages/${each}`);
      channels[name] = {
        address: `/metadata${server === 'sse' ? '/sse' : ''}/${scope}/{${id}}`,
        servers: [reference(`servers/${server}`)],
        description: about,
        parameters: { [id]: { description: of } },
        messages: Object.fromEntries(names.map((each) => [each, reference(`components/messages/${each}`)])),
        ...(server === 'ws' && { bindings: { ws: { method: 'GET', ...query, bindingVersion: '0.1.0' } } }),
      };
      const channel = reference(`channels/${name}`);
      operations[`send-${name}`] = {
        action: 'send',
        channel,
        messages: MESSAGES.map(message),
        ...(server === 'sse' && { bindings: { http: { method: 'GET', ...query, bindingVersion: '0.3.0' } } }),
      };
      if (takesReports) operations[`receive-${name}`] = { action: 'receive', channel, messages: [message(REPORT)] };
    }
  }
  return { channels, operations };
}

const reference = (path: string): Json => ({ $ref: `#/${path}` });

function recordMessage(type: string, more: Json): Json {
  return {
    name: type,
    ...more,
    contentType: 'application/json',
    payload: { allOf: [reference('components/schemas/ChannelRecord'), { properties: { type: { const: type } } }] },
  };
}

/** By their names. */
const COMPONENTS: Json = {
  now: recordMessage('now', { title: 'The current track' }),
  next: recordMessage('next', {
    title: 'The following track',
    description:
      'When it is pushed. With the same id and empty texts (rawdata, artist, song): it was dropped, nothing follows. Where it has its turn ' +
      '(a now with its id, or with its artist and song) there is no such message.',
  }),
  [REPORT]: {
    name: REPORT,
    title: 'Where the player is: its session follows its pauses and stalls',
    contentType: 'application/json',
    payload: reference('components/schemas/HeardReport'),
  },
};

/** @param version of this server @param schemas as openApi takes them */
export function asyncApi(version: string, { ChannelRecord, HeardReport }: Schemas): Json {
  const host = { default: '127.0.0.1:8000', description: 'The host and port at which you read this.' };
  const protocol = {
    ws:
      'Text frames, no sub-protocol: connect and listen. In listener scope a player may report what it hears, once a second; other messages are ignored. Answer PING with PONG, as browsers do. Closed with ' +
      '1001 when the server stops and 1013 when a reader takes nothing: connect again after a pause. 1008 after too many ' +
      'frames, 1009 after a message longer than a report needs.',
    sse: 'Unnamed events: data is the record, id goes back in Last-Event-ID, so that nothing is sent twice.',
  };
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'airsplice',
      version,
      description:
        'The titles of radio streams, as they change. Polling and pushing are in /openapi.json. The module /client.js ' +
        '(airsplice/client) reads these for pages and apps.',
      license: { name: 'MIT' },
    },
    defaultContentType: 'application/json',
    servers: {
      ws: { host: '{host}', protocol: 'ws', description: protocol.ws, variables: { host } },
      sse: { host: '{host}', protocol: 'http', description: protocol.sse, variables: { host } },
    },
    ...channelsAndOperations(),
    components: { messages: COMPONENTS, schemas: { ChannelRecord, HeardReport } },
  };
}
