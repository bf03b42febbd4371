/**
 * HTTP requests to one server over a few persistent connections, one in flight on each; requests that are due while all are busy wait, and their
 * time runs. A check gets each answer. Loopback only. Owned by the scenario, which closes it.
 */

import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface Answer {
  readonly status: number;
  /** In Latin-1, one character per byte. */
  readonly head: string;
  readonly body: string;
}

interface Content {
  /** Lines of the head, each with its line end. */
  readonly heads?: string;
  /** JSON. */
  readonly body?: string;
}

/** Safety margin before a server closes an idle connection, since a request may be on its way then. */
const MARGIN_MS = 1000;

interface Waiting {
  readonly text: string;
  readonly onAnswer: (answer: Answer) => void;
  readonly onFailure: (reason: string) => void;
}

export class Requests {
  /** Milliseconds from the time at which each was due to its complete answer. */
  readonly ms: number[] = [];
  /** Number of wrong or missing answers. */
  wrong = 0;
  firstFault: string | undefined;
  /** Received bytes. */
  bytes = 0;
  #waiting: Waiting[] = [];
  #next = 0;
  #unanswered = 0;
  #onIdle = () => {};
  readonly #host: string;
  readonly #free: Connection[];
  readonly #all: readonly Connection[];

  constructor(port: number, connections: number, isSecure = false) {
    this.#host = `127.0.0.1:${port}`;
    this.#all = Array.from({ length: connections }, () => new Connection(port, isSecure, this));
    this.#free = [...this.#all];
  }

  /**
   * @param line method and path
   * @param dueAt by performance.now()
   */
  send(line: string, dueAt: number, isRight: (answer: Answer) => boolean, content?: Content): void {
    this.#queue(line, content, {
      onAnswer: (answer) => {
        this.ms.push(performance.now() - dueAt);
        if (!isRight(answer)) this.#fault(`answered ${answer.status}: ${answer.body.slice(0, 200)}`);
      },
      onFailure: (reason) => this.#fault(reason),
    });
  }

  /** Sends a request without measuring it. Rejects if its connection breaks. */
  ask(line: string, content?: Content): Promise<Answer> {
    return new Promise((onAnswer, reject) => {
      this.#queue(line, content, { onAnswer, onFailure: (reason) => reject(new Error(`${line}: ${reason}`)) });
    });
  }

  /** Resolves when all are answered, or after `seconds`; unanswered ones then count as wrong. */
  async idle(seconds: number): Promise<void> {
    if (this.#unanswered > 0)
      await new Promise<void>((resolve) => {
        const patience = setTimeout(resolve, seconds * 1000);
        this.#onIdle = () => {
          clearTimeout(patience);
          resolve();
        };
      });
    if (this.#unanswered > 0) this.#fault(`${this.#unanswered} requests were not answered in ${seconds} s`);
  }

  close(): void {
    for (const connection of this.#all) connection.close();
  }

  /** @param connection is free again */
  done(connection: Connection, received: number): void {
    this.bytes += received;
    this.#free.push(connection);
    if (--this.#unanswered === 0) this.#onIdle();
    this.#turn();
  }

  #queue(line: string, { heads = '', body }: Content = {}, events: Omit<Waiting, 'text'>): void {
    const length =
      body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
    const text = `${line} HTTP/1.1\r\nHost: ${this.#host}\r\n${heads}${length}\r\n${body ?? ''}`;
    this.#waiting.push({ text, ...events });
    this.#unanswered++;
    this.#turn();
  }

  #fault(text: string): void {
    this.wrong++;
    this.firstFault ??= text;
  }

  #turn(): void {
    while (this.#next < this.#waiting.length && this.#free.length > 0)
      this.#free.pop()!.send(this.#waiting[this.#next++]!);
    if (this.#next < 10_000) return;
    this.#waiting = this.#waiting.slice(this.#next);
    this.#next = 0;
  }
}

/**
 * Connects when it has something to send, since servers close idle connections. It abandons a connection shortly before the idle time-out that the
 * server announced.
 */
class Connection {
  readonly #port: number;
  readonly #isSecure: boolean;
  readonly #owner: Requests;
  #socket: Socket | undefined;
  #sent: Waiting | undefined;
  #received = '';
  /** The end of its use, by performance.now(). */
  #endsAt = Number.POSITIVE_INFINITY;

  constructor(port: number, isSecure: boolean, owner: Requests) {
    this.#port = port;
    this.#isSecure = isSecure;
    this.#owner = owner;
  }

  send(waiting: Waiting): void {
    this.#sent = waiting;
    if (performance.now() > this.#endsAt) this.#leave();
    this.#socket ??= this.#connect();
    this.#socket.write(waiting.text);
  }

  close(): void {
    this.#sent = undefined;
    this.#socket?.destroy();
  }

  #connect(): Socket {
    const place = { host: '127.0.0.1', port: this.#port, noDelay: true };
    const socket = this.#isSecure ? connectTls({ ...place, rejectUnauthorized: false }) : connect(place);
    socket.setEncoding('latin1');
    socket.on('data', (text) => this.#take(String(text)));
    socket.on('error', (error) => this.#end(socket, error.message));
    socket.on('close', () => this.#end(socket, 'a connection was closed by the server'));
    return socket;
  }

  #take(text: string): void {
    this.#received += text;
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0 || this.#sent === undefined) return;
    const head = this.#received.slice(0, end + 2);
    const length = Number(/\r\ncontent-length:[ \t]*(\d+)/i.exec(head)?.[1] ?? 0);
    const status = Number(head.slice(9, 12));
    const after = end + 4 + (status === 304 || status === 204 ? 0 : length);
    if (this.#received.length < after) return;
    const answer = { status, head, body: this.#received.slice(end + 4, after) };
    this.#received = this.#received.slice(after);
    const sent = this.#sent;
    this.#sent = undefined;
    if (/\r\nconnection:[ \t]*close/i.test(head)) this.#leave();
    const keepSeconds = Number(/\r\nkeep-alive:[^\r]*timeout=(\d+)/i.exec(head)?.[1] ?? Number.POSITIVE_INFINITY);
    this.#endsAt = performance.now() + keepSeconds * 1000 - MARGIN_MS;
    sent.onAnswer(answer);
    this.#owner.done(this, after);
  }

  #leave(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#endsAt = Number.POSITIVE_INFINITY;
  }

  #end(socket: Socket, reason: string): void {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    this.#received = '';
    const sent = this.#sent;
    this.#sent = undefined;
    if (sent === undefined) return;
    sent.onFailure(reason);
    this.#owner.done(this, 0);
  }
}
