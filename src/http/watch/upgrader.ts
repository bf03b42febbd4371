/**
 * Makes WebSockets of upgrade requests: no sub-protocol is chosen and nothing is compressed. The answer carries the headers of its
 * address; one that ws refuses is answered as a problem like any other.
 *
 * A client that has connected may say little, each time in one frame, and each frame is dealt with in a turn of the loop of its own: however
 * many come in one packet, none but its sender waits for them. Past `frames` the connection is closed with 1008, as it is for a
 * message in pieces: ws would keep each piece together with everything that was read at once with it.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../../base/clock.js';
import { Refusal } from '../../base/refusal.js';
import { WEBSOCKET_METHODS } from '../allow.js';
import type { AddressHeaders } from '../legacy.js';
import { endWithProblem } from '../problem.js';

/** Of a bucket of frames, how long it takes to fill. */
const FILL_MS = 10_000;
/** What a message takes beside its payload: the header of its frame, and of a TLS record. */
const FRAME_BYTES = 64;
/** Options of ws; its types do not know all of them. */
const BOUNDS = {
  maxFragments: 1,
  /** A message may trickle in at most this many packets: each is kept until it is whole. */
  maxBufferedChunks: 256,
  /** A client that does not take its PONGs is owed only the newest beyond these (RFC 6455, 5.5.3). */
  maxPendingAutoPongs: 4,
  /** Milliseconds: how long a connection that was closed may take to answer the close frame. */
  closeTimeout: 2000,
};

export interface UpgraderOptions {
  /** A longer message closes the connection with 1009. */
  readonly mostBytes: number;
  /** PINGs, PONGs and messages of one connection, at once and in ten seconds. */
  readonly frames: () => number;
  /** Called with what went wrong behind the 101, where the client learns only that its connection has gone. */
  onError(error: unknown): void;
}

export class Upgrader {
  readonly #clock: Clock;
  readonly #mostBytes: number;
  readonly #frames: () => number;
  readonly #onError: UpgraderOptions['onError'];
  readonly #server: WebSocketServer;
  readonly #headers = new WeakMap<IncomingMessage, AddressHeaders>();

  constructor(clock: Clock, { mostBytes, frames, onError }: UpgraderOptions) {
    this.#clock = clock;
    this.#mostBytes = mostBytes;
    this.#frames = frames;
    this.#onError = onError;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: mostBytes,
      allowSynchronousEvents: false,
      ...BOUNDS,
    });
    this.#server.on('headers', (lines, request) => {
      for (const [name, value] of Object.entries(this.#headersOf(request))) lines.push(`${name}: ${value}`);
    });
    this.#server.on('wsClientError', (error, socket, request) => {
      const refusal =
        request.method === 'GET'
          ? // RFC 6455, 4.4: the answer to another version names those that there are.
            new Refusal('bad-request', `${error.message}.`, { headers: { 'Sec-WebSocket-Version': '13, 8' } })
          : new Refusal('method-not-allowed', 'A WebSocket begins with GET.', {
              headers: { Allow: WEBSOCKET_METHODS },
            });
      endWithProblem(socket as Socket, refusal, this.#headersOf(request));
    });
  }

  /** Bytes that one connection may send in ten seconds, however they are packed: a full bucket of frames, and what refills it. */
  get mostReceived(): number {
    return 2 * this.#frames() * (this.#mostBytes + FRAME_BYTES);
  }

  /** Opens, or answers with a problem. `onOpen` is called before this returns, or never; where it throws, the connection is cut. */
  take(
    request: IncomingMessage,
    socket: Socket,
    first: Buffer,
    headers: AddressHeaders,
    onOpen: (ws: WebSocket) => void,
  ): void {
    this.#headers.set(request, headers);
    // ws would take it apart, however long, and choose the first.
    delete request.headers['sec-websocket-protocol'];
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

  /** Closes the connection when it says too much. What has been read of it by then is dropped. */
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
