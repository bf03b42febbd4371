/**
 * A watcher's connection by SSE (HTML, "Server-sent events"): one unnamed event per record, with an id that names the last messages sent;
 * comments as pings. The body is close-delimited and written to the socket directly, as bytes that all readers of a message share; Node's
 * response stays open, so that no other request is answered on this connection.
 */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Firsts, Message } from '../../feed/feed.js';
import { bareOf } from '../../net/front/tracked-connection.js';
import type { Direct, Transport } from './watch-connection.js';

/**
 * No blank line follows a comment or a retry: before the first event it would reset the last event id of a reader that follows the standard
 * exactly (HTML, 9.2.6: a blank line dispatches, with the id of this connection, which is still empty).
 */
const COMMENT = Buffer.from(':\n');
/** After a restart, reconnections are spread over this time. */
const RETRY_MIN_MS = 2000;
const RETRY_SPREAD_MS = 3000;

const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
  'Access-Control-Allow-Origin': '*',
};

/** The id of a message on this connection. */
export type IdFor = (message: Message) => string;

/** Sends the head. @returns the socket of the response; the response itself must not be written to any more */
export function beginEvents(response: ServerResponse): Socket {
  const { socket } = response;
  // The body ends with the connection.
  response.useChunkedEncodingByDefault = false;
  response.writeHead(200, HEADERS);
  response.flushHeaders();
  socket!.setTimeout(0);
  return socket!;
}

/** Answers HEAD. */
export function headOfEvents(response: ServerResponse): void {
  response.writeHead(200, HEADERS).end();
}

/** Maximum in ten seconds: a client sends only pipelined requests and bytes of TLS. */
const MAX_RECEIVED_BYTES = 64 * 1024;

export class EventStream implements Transport {
  readonly alive = true;
  readonly maxReceived = MAX_RECEIVED_BYTES;
  readonly #bare: Socket;
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #idFor: IdFor | null;

  /** @param idFor null: messages have ids of their own, except the first ones, which are not sent in the order in which they happened */
  constructor(response: ServerResponse, socket: Socket, idFor: IdFor | null) {
    this.#response = response;
    this.#socket = socket;
    this.#bare = bareOf(socket);
    this.#idFor = idFor;
    socket.write(`retry: ${RETRY_MIN_MS + Math.floor(Math.random() * RETRY_SPREAD_MS)}\n`);
  }

  get open(): boolean {
    return this.#socket.writable && !this.#response.writableEnded;
  }

  get waiting(): number {
    return this.#socket.writableLength;
  }

  get received(): number {
    return this.#bare.bytesRead;
  }

  get taken(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }

  get direct(): Direct | null {
    return this.#idFor === null ? { socket: this.#socket, bytes: eventOf } : null;
  }

  send(message: Message, firsts: Firsts | null): void {
    const id = this.#idFor === null ? firsts?.id : this.#idFor(message);
    if (id === undefined) {
      this.#socket.write(eventOf(message));
      return;
    }
    this.#socket.cork();
    this.#socket.write(`id: ${id}\n`);
    this.#socket.write((message.data ??= Buffer.from(`data: ${message.json}\n\n`)));
    this.#socket.uncork();
  }

  ping(): void {
    this.#socket.write(COMMENT);
  }

  close(): void {
    this.#response.end();
  }

  cut(): void {
    this.#socket.destroy();
  }
}

function eventOf(message: Message): Buffer {
  return (message.event ??= Buffer.from(`id: ${message.id}\ndata: ${message.json}\n\n`));
}
