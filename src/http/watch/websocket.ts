/**
 * A watcher's connection by WebSocket: one record per text frame, which all readers share; PING and PONG; close codes. Records are written to the
 * socket directly, not through ws. Without compression ws writes its own frames (PING, PONG, close) to the socket at once, so the order is kept.
 */

import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Message } from '../../feed/feed.js';
import { bareOf } from '../../net/front/tracked-connection.js';
import type { Direct, Transport, WatchEnding } from './watch-connection.js';

/** RFC 6455, 7.4.1 and its registry: going away; try again later. */
const CODES: Readonly<Record<WatchEnding, number>> = { shutdown: 1001, 'too slow': 1013, gone: 1001 };

/** `readyState` of an open one. */
const OPEN = 1;
const PING = Buffer.from([0x89, 0]);

export class WebSocketTransport implements Transport {
  readonly #ws: WebSocket;
  readonly maxReceived: number;
  readonly #socket: Socket;
  readonly #bare: Socket;
  readonly #sendPing: (() => void) | undefined;
  #answered = true;

  /** @param maxReceived bytes in ten seconds @param sendPing called instead of sending a PING frame */
  constructor(ws: WebSocket, socket: Socket, maxReceived: number, sendPing?: () => void) {
    this.#ws = ws;
    this.#socket = socket;
    this.#bare = bareOf(socket);
    this.maxReceived = maxReceived;
    this.#sendPing = sendPing;
    ws.on('pong', () => this.touch());
  }

  /** The client has answered. */
  touch(): void {
    this.#answered = true;
  }

  get open(): boolean {
    return this.#ws.readyState === OPEN;
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

  get alive(): boolean {
    return this.#answered;
  }

  get direct(): Direct {
    return { socket: this.#socket, bytes: frameOf };
  }

  send(message: Message): void {
    this.#socket.write(frameOf(message));
  }

  ping(): void {
    this.#answered = false;
    if (!this.open) return;
    if (this.#sendPing === undefined) this.#socket.write(PING);
    else this.#sendPing();
  }

  close(why: WatchEnding): void {
    this.#ws.close(CODES[why], why === 'shutdown' ? 'shutting down' : why);
  }

  cut(): void {
    this.#ws.terminate();
  }
}

function frameOf(message: Message): Buffer {
  return (message.frame ??= textFrame(message.json));
}

/** An unmasked frame with a complete text (RFC 6455, 5.2). */
function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafeSlow(head + length);
  frame[0] = 0x81;
  frame[1] = head === 2 ? length : head === 4 ? 126 : 127;
  if (head === 4) frame.writeUInt16BE(length, 2);
  if (head === 10) frame.writeBigUInt64BE(BigInt(length), 2);
  frame.write(text, head);
  return frame;
}
