/** A reader's connection by WebSocket: one record per text frame, framed once for all who get it; PING and PONG; close codes. */

import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import * as wsModule from 'ws';
import type { Message } from '../metadata/feed.js';
import type { Goodbye, Transport } from './reader.js';

/** RFC 6455, 7.4.1 and its registry: going away; try again later. */
const CODES: Readonly<Record<Goodbye, number>> = { shutdown: 1001, 'too slow': 1013 };

/** Exported by ws, missing in its types. */
const { Sender } = wsModule as unknown as { Sender: { frame(data: Buffer, options: object): Buffer[] } };

export class WebSocketTransport implements Transport {
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #ask: () => void;
  #answered = true;

  /** @param ask how the other side is asked for a sign of life, if not by PING */
  constructor(ws: WebSocket, socket: Socket, ask: () => void = () => ws.ping()) {
    this.#ws = ws;
    this.#socket = socket;
    this.#ask = ask;
    ws.on('pong', () => this.heard());
  }

  /** A sign of life. */
  heard(): void {
    this.#answered = true;
  }

  get open(): boolean {
    return this.#ws.readyState === this.#ws.OPEN;
  }

  get waiting(): number {
    return this.#socket.writableLength;
  }

  get taken(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }

  get alive(): boolean {
    return this.#answered;
  }

  /** Through a private field of ws where that is there, so that a message is framed once. */
  send(message: Message): void {
    const sender = (this.#ws as unknown as { _sender?: { sendFrame?: (list: readonly Buffer[]) => void } })._sender;
    if (typeof sender?.sendFrame !== 'function') {
      this.#ws.send(message.json);
      return;
    }
    message.frame ??= [frameOf(message.json)];
    sender.sendFrame(message.frame);
  }

  ping(): void {
    this.#answered = false;
    this.#ask();
  }

  close(why: Goodbye): void {
    this.#ws.close(CODES[why], why === 'shutdown' ? 'shutting down' : why);
  }

  cut(): void {
    this.#ws.terminate();
  }
}

function frameOf(text: string): Buffer {
  return Buffer.concat(
    Sender.frame(Buffer.from(text), { fin: true, rsv1: false, opcode: 1, mask: false, readOnly: true }),
  );
}
