/**
 * A watcher's connection by SSE (HTML, "Server-sent events"): one unnamed event per record, with an id that says what has been seen
 * by then; a comment as a sign of life. The body is close-delimited and written past Node's response, as bytes that are made once
 * for all that get the message; the response stays in its place, so that nothing else is answered on this connection.
 */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Firsts, Message } from '../../feed/feed.js';
import { bareOf } from '../../net/front/tracked-connection.js';
import type { Direct, Transport } from './connection.js';

/**
 * No blank line after what is not an event: on a new connection it would have a reader that follows the standard to the letter forget
 * the last id (HTML, 9.2.6: a blank line dispatches, and the id of this connection is empty until the first event).
 */
const COMMENT = Buffer.from(':\n');
/** Readers that a restart sent away come back spread over this time. */
const RETRY_MIN_MS = 2000;
const RETRY_SPREAD_MS = 3000;

const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
  'Access-Control-Allow-Origin': '*',
};

/** The id of a message for this connection alone. */
export type IdFor = (message: Message) => string;

/** Sends the head. @returns the bare socket; the response must have it, and must not be written to */
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

/** In ten seconds, from a client that has nothing to send but requests ahead of their turn, and bytes of TLS. */
const MAX_RECEIVED_BYTES = 64 * 1024;

export class EventStream implements Transport {
  readonly alive = true;
  readonly mostReceived = MAX_RECEIVED_BYTES;
  readonly #bare: Socket;
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #idFor: IdFor | null;

  /** @param idFor null: only the first messages have ids of their own, as they go out in another order than they happened in */
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
