/**
 * A request of ours and its response, on a connection of its own: all our requests are made here. Redirects, playlists and
 * deadlines are up to its owner.
 *
 *   start ─► onAnswer (status and headers) ─► body: onBody, onBody … ─► onEnd
 *     └────────────────┴───────────────────────┴──────► onFailed     one of both ends, once; none after `abort`
 *
 * By undici's `dispatch`. Invariant: its handler never pauses (nodejs/undici#5360: a FIN after a paused body throws where it cannot be
 * caught). `pause` stops the socket below undici instead; bytes already read, about 64 KiB, and the end of the body wait here in order.
 */

import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { buildConnector, Dispatcher } from 'undici';
import Client from 'undici/lib/dispatcher/client.js';
import { type ConnectionOptions, OutboundConnection, openSocket } from './outbound-connection.js';
import type { Target } from './target.js';

export interface OutboundRequest {
  readonly target: Target;
  readonly method: 'GET' | 'HEAD' | 'POST';
  /** Without Host, Connection and Content-Length, and without the target's own Authorization. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface OutboundSink {
  /** The head of a final response has come. The body is dropped unless `receive` is called here. */
  onAnswer(): void;
  /**
   * May be called before `start` returns. @param reason holds no URL, but may hold the address or name connected to
   * @param code of the system, undici or TLS; undefined: none
   */
  onFailed(reason: string, code: string | undefined): void;
  /** The connection is closed; the last call, once, also after `abort`. */
  onClosed?(): void;
}

export interface BodySink {
  /** The next bytes, which may be kept. `pause` may be called here. */
  onBody(chunk: Buffer): void;
  /** The body is complete, or its length was not given and the connection ended. */
  onEnd(): void;
  /** See `setIdleTimeout`. */
  onIdle?(): void;
}

/** Headers of which the first counts if repeated; others are lists (RFC 9110, 5.3). */
const SINGLE = new Set(['content-type', 'location']);

export class Outbound implements Dispatcher.DispatchHandler {
  status = 0;
  /** By name in lower case; one character a byte. */
  headers: ReadonlyMap<string, string> = new Map();
  readonly #request: OutboundRequest;
  readonly #options: ConnectionOptions;
  readonly #sink: OutboundSink;
  #connection: OutboundConnection | null = null;
  #body: BodySink | null = null;
  /** Received while paused, in order. */
  readonly #waiting: Buffer[] = [];
  #isPaused = false;
  /** The body is complete, including what waits. */
  #isComplete = false;
  /** The request ended, failed or was aborted. */
  #isOver = false;

  constructor(request: OutboundRequest, options: ConnectionOptions, sink: OutboundSink) {
    this.#request = request;
    this.#options = options;
    this.#sink = sink;
  }

  /** Once. */
  start(): void {
    const { target, method, headers, body } = this.#request;
    const { url, authorization } = target;
    const client = new Client(url.origin, {
      connect: (_, callback) => this.#connect(callback),
      maxHeaderSize: this.#options.headBytes,
      // Deadlines are the owner's.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const path = url.pathname + url.search;
    const all = authorization === undefined ? headers : { ...headers, authorization };
    client.dispatch({ method, path, headers: all, body: body ?? null, reset: true }, this);
    if (this.#connection === null) this.#sink.onClosed?.();
  }

  /** Closes the connection. Idempotent. */
  abort(): void {
    this.#isOver = true;
    this.#waiting.length = 0;
    this.#connection?.destroy();
  }

  receive(body: BodySink): void {
    this.#body = body;
  }

  /** Holds back all that follows until `resume`. */
  pause(): void {
    this.#isPaused = true;
    this.#connection?.pauseSocket();
  }

  /** Waiting data follow in the next tick, as the caller may not have finished its chunk. */
  resume(): void {
    this.#isPaused = false;
    process.nextTick(() => this.#handOn());
  }

  /** Calls `onIdle` when no byte comes for this long. @param ms 0: no limit */
  setIdleTimeout(ms: number): void {
    this.#connection?.socket.setTimeout(ms);
  }

  /** Marks the handler as one of undici's newer API. */
  onRequestStart(): void {}

  onResponseStart(_: unknown, status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void {
    if (this.#isOver) return;
    this.status = status;
    this.headers = new Map(Object.entries(headers).map(([name, value]) => [name, textOf(name, value)]));
    guarded(() => this.#sink.onAnswer());
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#isPaused || this.#waiting.length > 0) this.#waiting.push(chunk);
    else this.#pass(chunk);
  }

  onResponseEnd(): void {
    this.#isComplete = true;
    if (!this.#isPaused && this.#waiting.length === 0) this.#end();
  }

  onResponseError(_: unknown, error: Error): void {
    this.#fail(error);
  }

  #connect(callback: buildConnector.Callback): void {
    const socket = openSocket(this.#request.target, this.#options);
    if (socket instanceof Error) {
      callback(socket, null);
      return;
    }
    const connection = new OutboundConnection(socket, this.#options.headBytes);
    this.#connection = connection;
    connection.on('error', (error) => this.#fail(error));
    socket.once(this.#request.target.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      // undici uses only what any duplex stream has.
      callback(null, connection as Duplex as Socket);
    });
    socket.on('timeout', () => this.#body?.onIdle?.());
    socket.on('close', () => this.#sink.onClosed?.());
  }

  /** Hands on what waits, then the end, or resumes the socket. */
  #handOn(): void {
    while (!this.#isPaused && !this.#isOver) {
      const chunk = this.#waiting.shift();
      if (chunk !== undefined) this.#pass(chunk);
      else if (this.#isComplete) this.#end();
      else {
        this.#connection?.resumeSocket();
        return;
      }
    }
  }

  #pass(chunk: Buffer): void {
    // Not `guarded`: no closure per chunk.
    try {
      this.#body?.onBody(chunk);
    } catch (error) {
      raise(error);
    }
  }

  #end(): void {
    if (this.#isOver) return;
    this.abort();
    guarded(() => this.#body?.onEnd());
  }

  /** Ignored once the body is complete. */
  #fail(error: NodeJS.ErrnoException): void {
    if (this.#isOver || this.#isComplete) return;
    this.abort();
    // Node's error for several addresses that all failed has a code only.
    guarded(() => this.#sink.onFailed(error.message || error.code || 'the connection failed', error.code));
  }
}

function textOf(name: string, value: string | string[] | undefined): string {
  if (!Array.isArray(value)) return value ?? '';
  return SINGLE.has(name) ? value[0]! : value.join(', ');
}

/** undici reports what a handler throws as a failure of the request: a bug of ours must not look like the server's fault. */
function guarded(call: () => void): void {
  try {
    call();
  } catch (error) {
    raise(error);
  }
}

function raise(error: unknown): void {
  process.nextTick(() => {
    throw error;
  });
}
