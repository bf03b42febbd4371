/**
 * A connection to a topic, by WebSocket or by server-sent events over fetch: opens, delivers messages, ends once. follower.ts makes the
 * next one.
 */

import { EventReader } from './event-reader.js';
import type { SocketConstructor } from './types.js';

/** How a connection ended. */
export interface ConnectionEnd {
  readonly wasOpen: boolean;
  /** Close code of a WebSocket (RFC 6455, 7.4.1); 0: unknown. */
  readonly code: number;
  /** Status of an answer other than 200; 0: none. */
  readonly status: number;
  /** From its Retry-After. */
  readonly retryAfterMs: number;
}

export interface ConnectionHandlers {
  onOpen(): void;
  onMessage(json: string): void;
  /** Called once, unless `close` was called. */
  onEnd(end: ConnectionEnd): void;
}

export interface Connection {
  /** Null: it cannot send. */
  readonly send: ((text: string) => void) | null;
  /** Closes it; no handler is called afterwards. */
  close(): void;
}

const OPEN_MS = 15_000;
/** Server-sent events have a ping every 25 s by default (`watch.pingSeconds`). */
const SILENT_MS = 150_000;
const UNKNOWN = { code: 0, status: 0, retryAfterMs: 0 };

export class SocketConnection implements Connection {
  readonly send: (text: string) => void;
  readonly #close: () => void;
  #handlers: ConnectionHandlers | null;

  /** @param url http or https */
  constructor(url: URL, Socket: SocketConstructor, handlers: ConnectionHandlers) {
    this.#handlers = handlers;
    const address = new URL(url);
    address.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new Socket(address.href);
    let wasOpen = false;
    const end = (code: number) => {
      clearTimeout(timer);
      const last = this.#handlers;
      this.#handlers = null;
      last?.onEnd({ ...UNKNOWN, wasOpen, code });
    };
    const timer = setTimeout(() => {
      end(0);
      socket.close();
    }, OPEN_MS);
    socket.addEventListener('open', () => {
      clearTimeout(timer);
      wasOpen = true;
      this.#handlers?.onOpen();
    });
    socket.addEventListener('message', ({ data }) => {
      if (typeof data === 'string') this.#handlers?.onMessage(data);
    });
    socket.addEventListener('error', () => undefined);
    socket.addEventListener('close', ({ code }) => end(code ?? 0));
    this.send = (text) => {
      if (socket.readyState === OPEN) socket.send(text);
    };
    this.#close = () => {
      clearTimeout(timer);
      socket.close();
    };
  }

  close(): void {
    this.#handlers = null;
    this.#close();
  }
}

/** A value of `readyState`. */
const OPEN = 1;

export class EventConnection implements Connection {
  readonly send = null;
  readonly #abort = new AbortController();
  #handlers: ConnectionHandlers | null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(url: URL, handlers: ConnectionHandlers) {
    this.#handlers = handlers;
    void this.#run(url);
  }

  close(): void {
    this.#handlers = null;
    clearTimeout(this.#timer);
    this.#abort.abort();
  }

  async #run(url: URL): Promise<void> {
    let end: ConnectionEnd = { ...UNKNOWN, wasOpen: false };
    try {
      this.#expect(OPEN_MS);
      const answer = await fetch(url, { headers: { Accept: 'text/event-stream' }, signal: this.#abort.signal });
      if (answer.status !== 200 || answer.body === null) end = { ...end, ...(await refusalOf(answer)) };
      else {
        end = { ...end, wasOpen: true };
        this.#handlers?.onOpen();
        await this.#read(answer.body);
      }
    } catch {
      // Unreachable, broken off, or silent for too long: handled alike.
    }
    clearTimeout(this.#timer);
    this.#abort.abort();
    this.#handlers?.onEnd(end);
    this.#handlers = null;
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const events = new EventReader((data) => this.#handlers?.onMessage(data));
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (;;) {
      this.#expect(SILENT_MS);
      const { done, value } = await reader.read();
      if (done) return;
      events.push(decoder.decode(value, { stream: true }));
    }
  }

  /** Aborts unless something comes within this time. */
  #expect(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#abort.abort(), ms);
  }
}

/** The refusal in an answer. */
export async function refusalOf(answer: Response): Promise<Pick<ConnectionEnd, 'status' | 'retryAfterMs'>> {
  await answer.body?.cancel();
  const header = answer.headers.get('Retry-After') ?? '';
  // Seconds or a date (RFC 9110, 10.2.3).
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return { status: answer.status, retryAfterMs: Number.isNaN(ms) ? 0 : Math.max(0, ms) };
}
