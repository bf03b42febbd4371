/**
 * Reads a feed, of a playing metaid or of a channel, by WebSocket or server-sent events. Titles have a stamp (bench/stamp.ts); one older than the
 * previous one is a fault. Owned by bench/crowd.ts and bench/soak, which close it.
 */

import { type ClientRequest, get } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { FeedsReport } from './report.js';
import { readStamp } from './stamp.js';
import { UPGRADE_HEADS, Watcher } from './watcher.js';

export class ListenerFeed {
  isOpen = false;
  messages = 0;
  bytes = 0;
  /** The first fault. */
  fault: string | undefined;
  /** Numbers of the newest titles; 0: none yet. */
  readonly last = { now: 0, next: 0 };
  #isClosed = false;
  readonly #connection: Socket | ClientRequest;

  /** @param of `listener/METAID` or `channel/KEY` */
  constructor(server: { host: string; port: number }, of: string, kind: 'websocket' | 'sse') {
    this.#connection = kind === 'sse' ? this.#bySse(server, of) : this.#byWebSocket(server, of);
    this.#connection.once('error', (error: Error) => this.#fault(error.message));
    this.#connection.once('close', () => this.#fault('it was closed'));
  }

  close(): void {
    this.#isClosed = true;
    this.#connection.destroy();
  }

  #byWebSocket({ host, port }: { host: string; port: number }, of: string): Socket {
    const socket = connect({ host, port });
    const watcher = new Watcher({
      onOpen: () => {
        this.isOpen = true;
      },
      onMessage: (payload) => this.#message(payload),
      onPing: (pong) => socket.write(pong),
      onFault: (text) => this.#fault(text),
    });
    socket.once('connect', () =>
      socket.write(`GET /metadata/${of} HTTP/1.1\r\nHost: ${host}:${port}\r\n${UPGRADE_HEADS}\r\n`),
    );
    return socket.on('data', (received: Buffer) => watcher.push(received));
  }

  #bySse({ host, port }: { host: string; port: number }, of: string): ClientRequest {
    return get({ host, port, path: `/metadata/sse/${of}`, agent: false }, (answer) => {
      if (answer.statusCode !== 200) return this.#fault(`status ${answer.statusCode}`);
      this.isOpen = true;
      let rest = '';
      answer.setEncoding('utf8');
      answer.on('data', (text: string) => {
        const events = (rest + text).split('\n\n');
        rest = events.pop()!;
        for (const event of events) {
          const data = /^data: ?(.*)$/m.exec(event)?.[1];
          if (data !== undefined) this.#message(Buffer.from(data));
        }
      });
    });
  }

  #message(payload: Buffer): void {
    this.bytes += payload.length;
    const read = readStamp(payload);
    // No stamp before the first title.
    if (read === undefined) return;
    this.messages++;
    // A next is sent at once, a now when it is heard, so each kind has its own order.
    const kind = payload.includes('"type":"next"') ? 'next' : 'now';
    if (read.number < this.last[kind]) this.#fault(`title ${read.number} behind ${this.last[kind]}`);
    this.last[kind] = read.number;
  }

  #fault(text: string): void {
    if (!this.#isClosed) this.fault ??= text;
  }
}

export function feedsReport(feeds: readonly ListenerFeed[]): FeedsReport {
  return {
    open: feeds.filter(({ isOpen }) => isOpen).length,
    messages: feeds.reduce((sum, { messages }) => sum + messages, 0),
    fewest: Math.min(...feeds.map(({ messages }) => messages)),
    bytes: feeds.reduce((sum, { bytes }) => sum + bytes, 0),
    faults: feeds.filter(({ fault, isOpen }) => fault !== undefined || !isOpen).length,
  };
}
