/**
 * One request of ours and its answer, on a connection of its own: every request that we make goes this way. Redirects, playlists and
 * deadlines are its owner's business.
 *
 *   start ─► onAnswer (status and headers) ─► body: onBody, onBody … ─► onEnd
 *     └────────────────┴───────────────────────┴──────► onFailed     one of both ends, once; none after `abort`
 *
 * By undici's `dispatch`. Invariant: its handler never pauses (nodejs/undici#5360: a FIN behind a paused body is thrown where nothing
 * catches it). `pause` stops the socket below undici instead. What was read by then, about 64 KiB, waits here in order, and the end of
 * the body behind it.
 */

import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { buildConnector, Dispatcher } from 'undici';
import Client from 'undici/lib/dispatcher/client.js';
import { type ConnectionOptions, OutboundConnection, openSocket } from './outbound-connection.js';
import type { Target } from './target.js';

export interface OutboundRequest {
  readonly target: Target;
  readonly method: 'GET' | 'POST';
  /** Without Host, Connection and Content-Length, and without the target's own Authorization. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface OutboundSink {
  /** A final answer's head. What follows is dropped unless `receive` is called in here. */
  onAnswer(): void;
  /**
   * May be called before `start` returns.
   * @param reason holds no URL, but may hold the address or the name that was connected to
   * @param code the system's, undici's or TLS's name for it; undefined: it has none
   */
  onFailed(reason: string, code: string | undefined): void;
  /** Nothing is left of the connection; last and once, after `abort` too. */
  onClosed?(): void;
}

export interface BodySink {
  /** The next bytes, which may be kept. `pause` in here holds back all that follows. */
  onBody(chunk: Buffer): void;
  /** The body is whole, or the connection ended where nothing said how long it would be. */
  onEnd(): void;
  /** No byte came for as long as `setIdleTimeout` says. */
  onIdle?(): void;
}

/** Headers of which the first one counts; of others several are one list (RFC 9110, 5.3). */
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
  /** Came while paused; oldest first. */
  readonly #waiting: Buffer[] = [];
  #isPaused = false;
  /** The body's end has come, behind what waits. */
  #isWhole = false;
  /** It ended, failed or was aborted. */
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

  /** Lets go of the connection. Idempotent. */
  abort(): void {
    this.#isOver = true;
    this.#waiting.length = 0;
    this.#connection?.destroy();
  }

  /** Who takes the body. */
  receive(body: BodySink): void {
    this.#body = body;
  }

  /** Nothing more is handed on until `resume`. */
  pause(): void {
    this.#isPaused = true;
    this.#connection?.pauseSocket();
  }

  /** Goes on in the next tick: the caller may still have bytes of the chunk before. */
  resume(): void {
    this.#isPaused = false;
    process.nextTick(() => this.#handOn());
  }

  /** @param ms 0: no limit */
  setIdleTimeout(ms: number): void {
    this.#connection?.socket.setTimeout(ms);
  }

  /** Without it undici takes the handler for one of its older kind. */
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
    else this.#give(chunk);
  }

  onResponseEnd(): void {
    this.#isWhole = true;
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
      // undici uses of it what every duplex stream has.
      callback(null, connection as Duplex as Socket);
    });
    socket.on('timeout', () => this.#body?.onIdle?.());
    socket.on('close', () => this.#sink.onClosed?.());
  }

  /** All that waits, as long as it is wanted, then the end; after that the socket is read on. */
  #handOn(): void {
    while (!this.#isPaused && !this.#isOver) {
      const chunk = this.#waiting.shift();
      if (chunk !== undefined) this.#give(chunk);
      else if (this.#isWhole) this.#end();
      else {
        this.#connection?.resumeSocket();
        return;
      }
    }
  }

  #give(chunk: Buffer): void {
    // Not by `guarded`: no closure per chunk.
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

  /** Of a body that came whole nothing fails any more. */
  #fail(error: NodeJS.ErrnoException): void {
    if (this.#isOver || this.#isWhole) return;
    this.abort();
    // What Node says of several addresses that all failed is empty but for its code.
    guarded(() => this.#sink.onFailed(error.message || error.code || 'the connection failed', error.code));
  }
}

function textOf(name: string, value: string | string[] | undefined): string {
  if (!Array.isArray(value)) return value ?? '';
  return SINGLE.has(name) ? value[0]! : value.join(', ');
}

/** undici takes what a handler throws for a failure of the request: a fault of ours must not pass for one of the server's. */
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
