/**
 * The AsyncAPI 3.0 document: what WebSocket and server-sent events send, on the three scopes. Every message of the server's is one record. The test
 * suite's messages are checked against it.
 */

import type { Json } from './json.js';
import type { Schemas } from './schemas.js';

const SCOPES = {
  channel: {
    id: 'channelkey',
    about: "One channel's titles: at once the following one, if any, then the current one; then every change.",
    of: "The channel's key.",
  },
  station: {
    id: 'stationkey',
    about: 'The titles of all channels of a station: at once each following and current one; then every change.',
    of: "The station's key.",
  },
  listener: {
    id: 'metaid',
    about:
      'What one listener hears. A client may connect before the stream starts, and stays connected when it ends. With ?sync=wire a ' +
      'message is sent when its title is written to the stream; its position says when it will be heard, to the millisecond, also for ' +
      'a title that was pushed late.',
    of: 'The id that its player made: 1 to 128 characters of A-Z a-z 0-9 . _ ~ -, with at least 128 random bits.',
  },
} as const;

const SYNC = {
  type: 'object',
  properties: {
    sync: {
      enum: ['audio', 'wire'],
      default: 'audio',
      description: 'audio: sent when heard; wire: sent when written to the stream.',
    },
  },
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
      'Sent when it is pushed. With the same id and empty rawdata, artist and song: it was withdrawn, and nothing is known to follow. ' +
      'That message is not sent when it becomes the current track (a now with its id, or with its artist and song).',
  }),
  [REPORT]: {
    name: REPORT,
    title: 'The position of a player, so that its session follows pauses and stalls',
    contentType: 'application/json',
    payload: reference('components/schemas/HeardReport'),
  },
};

/** @param version of this server @param schemas as openApi takes them */
export function asyncApi(version: string, { ChannelRecord, HeardReport }: Schemas): Json {
  const host = { default: '127.0.0.1:8000', description: 'The host and port of this document.' };
  const protocol = {
    ws:
      'Text frames, no sub-protocol: connect and listen. In the listener scope a player may report what it hears, by default once a second; ' +
      'other messages are ignored. Answer PING with PONG, as browsers do. Close codes: 1001 if the server stops, 1013 if the client ' +
      'does not read (reconnect after a pause); 1008 after too many frames, 1009 after a message that is longer than any report.',
    sse: 'Unnamed events: data is the record. Send the last id back in Last-Event-ID, so that nothing is sent twice.',
  };
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'airsplice',
      version,
      description:
        'The titles of radio streams, as they change. Polling and pushing are in /openapi.json. The module /client.js ' +
        '(airsplice/client) reads these messages for pages and apps.',
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
