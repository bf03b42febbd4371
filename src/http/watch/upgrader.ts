/**
 * Accepts WebSockets, without a sub-protocol and without compression. The answer has the headers of the address; a handshake that ws
 * refuses is answered with a problem.
 *
 * A client may send few messages, each in one frame, and each frame is handled in its own turn of the event loop, so that other clients do
 * not wait for a packet of many. The connection is closed with 1008 past `frames`, and for a fragmented message: ws would keep each fragment
 * together with the whole buffer that was read with it.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../../base/clock.js';
import { Refusal } from '../../base/refusal.js';
import { WEBSOCKET_METHODS } from '../allow.js';
import type { AddressHeaders } from '../legacy.js';
import { endWithProblem } from '../problem.js';

/** The time in which an empty bucket of frames fills. */
const FILL_MS = 10_000;
/** Maximum overhead of a message: the headers of its frame and of a TLS record. */
const FRAME_BYTES = 64;
/** Options of ws; its types lack some of them. */
const BOUNDS = {
  maxFragments: 1,
  /** Packets of one message, kept until it is complete. */
  maxBufferedChunks: 256,
  /** PONGs that wait for a slow client; beyond these only the newest is sent (RFC 6455, 5.5.3). */
  maxPendingAutoPongs: 4,
  /** Milliseconds that a client has to answer a close frame. */
  closeTimeout: 2000,
};

export interface UpgraderOptions {
  /** A longer message closes the connection with 1009; applies to new connections. */
  readonly maxBytes: () => number;
  /** Limit on PINGs, PONGs and messages of one connection in ten seconds; a burst of as many is allowed. */
  readonly frames: () => number;
  /** Gets errors after the 101; the connection is cut then. */
  onError(error: unknown): void;
}

export class Upgrader {
  readonly #clock: Clock;
  readonly #maxBytes: () => number;
  readonly #frames: () => number;
  readonly #onError: UpgraderOptions['onError'];
  readonly #server: WebSocketServer;
  readonly #headers = new WeakMap<IncomingMessage, AddressHeaders>();

  constructor(clock: Clock, { maxBytes, frames, onError }: UpgraderOptions) {
    this.#clock = clock;
    this.#maxBytes = maxBytes;
    this.#frames = frames;
    this.#onError = onError;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      allowSynchronousEvents: false,
      ...BOUNDS,
    });
    this.#server.on('headers', (lines, request) => {
      for (const [name, value] of Object.entries(this.#headersOf(request))) lines.push(`${name}: ${value}`);
    });
    this.#server.on('wsClientError', (error, socket, request) => {
      const refusal =
        request.method === 'GET'
          ? // RFC 6455, 4.4: the answer names the supported versions.
            new Refusal('bad-request', `${error.message}.`, { headers: { 'Sec-WebSocket-Version': '13, 8' } })
          : new Refusal('method-not-allowed', 'A WebSocket handshake must use GET.', {
              headers: { Allow: WEBSOCKET_METHODS },
            });
      endWithProblem(socket as Socket, refusal, this.#headersOf(request));
    });
  }

  /** Maximum bytes that one connection may send in ten seconds: a full bucket of frames, and its refill. */
  get maxReceived(): number {
    return 2 * this.#frames() * (this.#maxBytes() + FRAME_BYTES);
  }

  /** Opens a WebSocket, or answers with a problem. `onOpen` is called before this returns, or never; if it throws, the connection is cut. */
  take(
    request: IncomingMessage,
    socket: Socket,
    first: Buffer,
    headers: AddressHeaders,
    onOpen: (ws: WebSocket) => void,
  ): void {
    this.#headers.set(request, headers);
    // ws would parse it, whatever its length, and choose the first protocol.
    delete request.headers['sec-websocket-protocol'];
    // A reload may have changed it.
    this.#server.options.maxPayload = this.#maxBytes();
    this.#server.handleUpgrade(request, socket, first, (ws) => {
      ws.on('error', () => undefined);
      try {
        this.#limit(ws);
        onOpen(ws);
      } catch (error) {
        this.#onError(error);
        ws.terminate();
      }
    });
  }

  /** Closes the connection with 1008 if it sends too many frames. */
  #limit(ws: WebSocket): void {
    const frames = this.#frames();
    const perMs = frames / FILL_MS;
    let left = frames;
    let atMs = this.#clock.now();
    const onFrame = () => {
      const nowMs = this.#clock.now();
      left = Math.min(frames, left + (nowMs - atMs) * perMs) - 1;
      atMs = nowMs;
      if (left >= 0 || ws.readyState !== ws.OPEN) return;
      ws.close(1008, 'too many frames');
      ws.pause();
    };
    ws.on('message', onFrame).on('ping', onFrame).on('pong', onFrame);
  }

  #headersOf(request: IncomingMessage): AddressHeaders {
    return this.#headers.get(request)!;
  }
}
