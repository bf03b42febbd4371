/**
 * One WebSocket connection that watches. A slow one is never waited for: while `bufferBytes` wait in its buffer nothing is written,
 * and only the newest record per channel and type is kept for it; when nothing has drained for `drainMs` it is told to go.
 */

import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import * as wsModule from 'ws';
import type { Message, Watcher } from '../metadata/feed.js';

/** RFC 6455, 7.4.1 and its registry: going away; try again later. */
export const GOING_AWAY = 1001;
export const TRY_AGAIN_LATER = 1013;
/** How long a connection has to answer a close before it is cut. */
const CLOSE_MS = 2000;

export interface ReaderLimits {
  readonly pingMs: number;
  readonly bufferBytes: number;
  readonly drainMs: number;
}

/** Exported by ws, missing in its types. */
const { Sender } = wsModule as unknown as { Sender: { frame(data: Buffer, options: object): Buffer[] } };

/** Sends a text message that many readers receive; framed once, through a private field of ws where that is there. */
function sendShared(ws: WebSocket, message: Message): void {
  const sender = (ws as unknown as { _sender?: { sendFrame?: (list: readonly Buffer[]) => void } })._sender;
  if (typeof sender?.sendFrame !== 'function') {
    ws.send(message.json);
    return;
  }
  message.frame ??= [frameOf(message.json)];
  sender.sendFrame(message.frame);
}

function frameOf(text: string): Buffer {
  return Buffer.concat(
    Sender.frame(Buffer.from(text), { fin: true, rsv1: false, opcode: 1, mask: false, readOnly: true }),
  );
}

export class Reader implements Watcher {
  readonly address: string;
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #limits: ReaderLimits;
  /** What waits for a slow connection: slot → newest message. */
  readonly #kept = new Map<string, Message>();
  #pingedMs: number;
  #answered = true;
  #taken = 0;
  #takenMs: number;
  #closeMs = Number.POSITIVE_INFINITY;

  constructor(ws: WebSocket, socket: Socket, address: string, limits: ReaderLimits, nowMs: number) {
    this.#ws = ws;
    this.#socket = socket;
    this.address = address;
    this.#limits = limits;
    this.#pingedMs = nowMs;
    this.#takenMs = nowMs;
    ws.on('pong', () => {
      this.#answered = true;
    });
    socket.on('drain', () => this.#flush());
  }

  tell(message: Message): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    if (this.#kept.size === 0 && this.#socket.writableLength < this.#limits.bufferBytes) sendShared(this.#ws, message);
    else {
      // Deleted first: what is kept stays in the order in which it happened.
      this.#kept.delete(message.slot);
      this.#kept.set(message.slot, message);
      this.#flush();
    }
  }

  /** Looked at about once a second: pings, gives up the dead, tells the stuck to go. */
  check(nowMs: number): void {
    if (nowMs >= this.#closeMs) {
      this.#ws.terminate();
      return;
    }
    // 'drain' is told only above the socket's own mark, which may lie higher than ours.
    this.#flush();
    const waiting = this.#socket.writableLength;
    const taken = this.#socket.bytesWritten - waiting;
    if (waiting === 0 || taken !== this.#taken) this.#takenMs = nowMs;
    this.#taken = taken;
    if (nowMs - this.#takenMs >= this.#limits.drainMs) this.close(TRY_AGAIN_LATER, 'too slow', nowMs);
    else if (nowMs - this.#pingedMs >= this.#limits.pingMs) this.#ping(nowMs);
  }

  /** Says goodbye; a connection that does not answer is cut soon after. Idempotent. */
  close(code: number, reason: string, nowMs: number): void {
    if (this.#closeMs !== Number.POSITIVE_INFINITY) return;
    this.#closeMs = nowMs + CLOSE_MS;
    this.#kept.clear();
    this.#ws.close(code, reason);
  }

  terminate(): void {
    this.#ws.terminate();
  }

  #ping(nowMs: number): void {
    if (!this.#answered) {
      this.#ws.terminate();
      return;
    }
    this.#pingedMs = nowMs;
    // Who takes too little to be sent a PING is not asked: drainMs is the measure for him.
    if (this.#socket.writableLength >= this.#limits.bufferBytes) return;
    this.#answered = false;
    this.#ws.ping();
  }

  #flush(): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    for (const [slot, message] of this.#kept) {
      if (this.#socket.writableLength >= this.#limits.bufferBytes) return;
      this.#kept.delete(slot);
      sendShared(this.#ws, message);
    }
  }
}
