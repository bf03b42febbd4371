/**
 * The old service's WebSocket on `/` of a deprecated address: hapi nes, version 2 (src/http/README.md, "Deprecated host").
 * Its clients are watchers like all others, with the same limits and the same feed, and get each record in a `pub` message.
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
import type { UpgradeService } from '../http-service.js';
import type { AddressHeaders } from '../legacy.js';
import { asRefusal, endWithProblem } from '../problem.js';
import { READ_CORS } from '../reads.js';
import { NES_PING, NesSession } from './nes-session.js';
import { Upgrader } from './upgrader.js';
import type { WatchConnection } from './watch-connection.js';
import type { Topic, Watchers } from './watchers.js';
import { WebSocketTransport } from './websocket.js';

/** Added to MESSAGE_BYTES for each path to which a hello may subscribe. */
const PATH_BYTES = 160;
const MESSAGE_BYTES = 4096;
/** The shortest time-out that a client is given, since pings are up to a second late. */
const MIN_TIMEOUT_MS = 2000;

export interface NesOptions {
  readonly pingMs: number;
  /** Per connection. */
  readonly subscriptions: number;
  /** Limit for one connection in ten seconds; a burst of as many is allowed. */
  readonly frames: number;
  /** Gets the error that caused a 500. */
  onError(error: unknown): void;
}

type Render = (path: string, message: Message) => Message;

export class Nes implements UpgradeService {
  readonly role = 'legacy';
  readonly #watchers: Watchers;
  readonly #options: NesOptions;
  readonly #upgrader: Upgrader;
  /** Record → path → the `pub` message. */
  readonly #rendered = new WeakMap<Message, Map<string, Message>>();

  constructor(watchers: Watchers, clock: Clock, options: NesOptions) {
    this.#watchers = watchers;
    this.#options = options;
    const maxBytes = () => MESSAGE_BYTES + options.subscriptions * PATH_BYTES;
    this.#upgrader = new Upgrader(clock, { maxBytes, frames: () => options.frames, onError: options.onError });
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
    const transport = new WebSocketTransport(ws, socket, this.#upgrader.maxReceived, () => ws.send(NES_PING));
    const { reader, onGone } = this.#watchers.enter(transport, address);
    // ws emits its 'close' only after it has processed all bytes read.
    socket.on('close', onGone);
    const { pingMs } = this.#options;
    const subscriptions = new Subscriptions(this.#watchers, reader, this.#render);
    const session = new NesSession({
      answer: (json) => {
        ws.send(json);
        // A client is not read while it does not take its answers.
        if (socket.writableNeedDrain) ws.pause();
      },
      checkExists: (topic) => this.#watchers.checkExists(topic),
      subscribe: (path, topic) => subscriptions.begin(path, topic),
      heartbeat: { interval: Math.round(pingMs), timeout: Math.round(Math.max(pingMs, MIN_TIMEOUT_MS)) },
      maxSubscriptions: this.#options.subscriptions,
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

/** The subscriptions of one client. Its reader gets the first messages of all its subscriptions as one list. */
class Subscriptions implements Firsts {
  readonly id = '';
  readonly #watchers: Watchers;
  readonly #reader: WatchConnection;
  readonly #render: Render;
  /** Path → first messages that are not sent yet. */
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
