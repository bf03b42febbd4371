/**
 * The old service's WebSocket on `/` of a deprecated address: hapi nes, version 2 (src/http/README.md, "Deprecated
 * host"). Its clients are watchers like any other: they count among them and read the same feed, each record in a `pub` message.
 *
 *   {"type":"pub","path":"/metachannel/studio","message":{…record…}}
 *
 * Such a message is rendered once for all clients that have subscribed to the path.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Clock } from '../../base/clock.js';
import { type Firsts, Message } from '../../feed/feed.js';
import type { AddressHeaders } from '../legacy.js';
import { asRefusal, endWithProblem } from '../problem.js';
import { READ_CORS } from '../reads.js';
import type { UpgradeService } from '../service.js';
import type { WatchConnection } from './connection.js';
import { NES_PING, NesSession } from './nes-session.js';
import { Upgrader } from './upgrader.js';
import type { Topic, Watchers } from './watchers.js';
import { WebSocketTransport } from './websocket.js';

/** Room in a hello for each path that it subscribes to, beside that of any message. */
const PATH_BYTES = 160;
const MESSAGE_BYTES = 4096;
/** Pings are sent to the second: a client that counts on them must have this much patience. */
const MIN_TIMEOUT_MS = 2000;

export interface NesOptions {
  readonly pingMs: number;
  /** Of one connection. */
  readonly subscriptions: number;
  /** That one connection may send, at once and in ten seconds. */
  readonly frames: number;
  /** Called with what went wrong, where the client learns only that something did. */
  onError(error: unknown): void;
}

type Render = (path: string, message: Message) => Message;

export class Nes implements UpgradeService {
  readonly role = 'legacy';
  readonly #watchers: Watchers;
  readonly #options: NesOptions;
  readonly #upgrader: Upgrader;
  /** Record → path → what is sent. */
  readonly #rendered = new WeakMap<Message, Map<string, Message>>();

  constructor(watchers: Watchers, clock: Clock, options: NesOptions) {
    this.#watchers = watchers;
    this.#options = options;
    const mostBytes = MESSAGE_BYTES + options.subscriptions * PATH_BYTES;
    this.#upgrader = new Upgrader(clock, { mostBytes, frames: () => options.frames, onError: options.onError });
  }

  takes(path: string): boolean {
    return path === '/';
  }

  upgrade(request: IncomingMessage, socket: Socket, first: Buffer, headers: AddressHeaders): void {
    socket.on('error', () => undefined);
    try {
      const address = this.#watchers.originOf(request);
      this.#watchers.checkRoom(address);
      this.#upgrader.take(request, socket, first, headers, (ws) => this.#open(ws, socket, address));
    } catch (error) {
      endWithProblem(socket, asRefusal(error, this.#options.onError), { ...READ_CORS, ...headers });
    }
  }

  #open(ws: WebSocket, socket: Socket, address: string): void {
    const transport = new WebSocketTransport(ws, socket, this.#upgrader.mostReceived, () => ws.send(NES_PING));
    const { reader, onGone } = this.#watchers.enter(transport, address);
    // ws itself says so only when it has gone through all that it has read.
    socket.on('close', onGone);
    const { pingMs } = this.#options;
    const subscriptions = new Subscriptions(this.#watchers, reader, this.#render);
    const session = new NesSession({
      answer: (json) => {
        ws.send(json);
        // A client that asks faster than it takes the answers is read no further until it has.
        if (socket.writableNeedDrain) ws.pause();
      },
      checkExists: (topic) => this.#watchers.checkExists(topic),
      subscribe: (path, topic) => subscriptions.begin(path, topic),
      heartbeat: { interval: Math.round(pingMs), timeout: Math.round(Math.max(pingMs, MIN_TIMEOUT_MS)) },
      mostSubscriptions: this.#options.subscriptions,
      onError: this.#options.onError,
    });
    socket.on('drain', () => {
      if (transport.open) ws.resume();
      reader.flush();
    });
    ws.on('message', (data) => {
      transport.touch();
      if (transport.open) session.take(data.toString());
    });
    socket.on('close', () => session.close());
  }

  readonly #render: Render = (path, message) => {
    let byPath = this.#rendered.get(message);
    if (byPath === undefined) this.#rendered.set(message, (byPath = new Map()));
    let rendered = byPath.get(path);
    if (rendered === undefined) {
      const json = `{"type":"pub","path":${JSON.stringify(path)},"message":${message.json}}`;
      byPath.set(path, (rendered = new Message(`${path} ${message.slot}`, message.id, json)));
    }
    return rendered;
  };
}

/** What one client watches. Its reader takes one list of first messages: those of all subscriptions, one after the other. */
class Subscriptions implements Firsts {
  readonly id = '';
  readonly #watchers: Watchers;
  readonly #reader: WatchConnection;
  readonly #render: Render;
  /** Path → first messages that were not taken yet. */
  readonly #firsts = new Map<string, Firsts>();

  constructor(watchers: Watchers, reader: WatchConnection, render: Render) {
    this.#watchers = watchers;
    this.#reader = reader;
    this.#render = render;
  }

  begin(path: string, target: Topic): () => void {
    const watcher = {
      onMessage: (message: Message) => this.#reader.onMessage(this.#render(path, message)),
      onFirsts: (firsts: Firsts) => {
        this.#firsts.set(path, firsts);
        this.#reader.onFirsts(this);
      },
    };
    const unsubscribe = this.#watchers.subscribe(watcher, { target, sync: 'audio' });
    return () => {
      this.#firsts.delete(path);
      unsubscribe();
    };
  }

  next(): Message | null {
    for (const [path, firsts] of this.#firsts) {
      const message = firsts.next();
      if (message !== null) return this.#render(path, message);
      this.#firsts.delete(path);
    }
    return null;
  }
}
