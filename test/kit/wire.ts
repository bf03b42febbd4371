/**
 * HTTP and WebSocket as bytes on a bare socket, for requests that no client library would send: in pieces, pipelined, broken, never finished. And a
 * WebSocket reader that keeps what it receives.
 */

import net from 'node:net';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import { answerProblems, messageProblems } from './documents.js';
import { heldAt, isRead } from './process-sockets.js';
import { WORKERS } from './server.js';
import { until, untilPromised } from './until.js';

/** Time-out for answers, whose speed depends on the machine. */
const PATIENCE_MS = 20_000;
/** Time for an ending that is promised at once: less than all default time-outs of the configuration (headSeconds: 10 s). */
export const ENDS_MS = 9000;

export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect the members that they expect
  json(): any;
}

export class Wire {
  readonly socket: net.Socket;
  /** All received bytes, one character per byte. */
  got = '';
  /** Whether the server has ended the stream. */
  ended = false;
  closed = false;

  constructor(t: Test, port: number, options: { halfOpen?: boolean; host?: string; from?: string } = {}) {
    this.socket = net.connect({
      host: options.host ?? '127.0.0.1',
      port,
      allowHalfOpen: options.halfOpen ?? false,
      noDelay: true,
      ...(options.from === undefined ? {} : { localAddress: options.from }),
    });
    t.teardown(() => this.socket.destroy());
    this.socket.on('error', () => undefined);
    this.socket.on('data', (chunk: Buffer) => {
      this.got += chunk.toString('latin1');
    });
    this.socket.on('end', () => {
      this.ended = true;
    });
    this.socket.on('close', () => {
      this.closed = true;
    });
  }

  send(bytes: string | Buffer): this {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    return this;
  }

  /** The complete answers so far, including 1xx. @param bodiless number of answers, from the first, to a HEAD */
  answers(bodiless = 0): Answer[] {
    const answers: Answer[] = [];
    let rest = this.got;
    for (;;) {
      const end = rest.indexOf('\r\n\r\n');
      if (end < 0) return answers;
      const [first, ...lines] = rest.slice(0, end).split('\r\n');
      const status = Number(first!.split(' ')[1]);
      const headers = new Map(
        lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
      );
      const none = status < 200 || status === 204 || status === 304 || answers.length < bodiless;
      const length = none ? 0 : Number(headers.get('content-length') ?? Number.NaN);
      const whole = Number.isNaN(length) ? this.ended : rest.length >= end + 4 + length;
      if (!whole) return answers;
      const taken = Number.isNaN(length) ? rest.length : end + 4 + length;
      const body = Buffer.from(rest.slice(end + 4, taken), 'latin1').toString('utf8');
      answers.push({ status, headers, body, json: () => JSON.parse(body) });
      rest = rest.slice(taken);
    }
  }

  /** Waits for this many complete answers; returns them. Rejects at once if the connection closes without them. */
  async take(count: number, ms = PATIENCE_MS, bodiless = 0): Promise<Answer[]> {
    const got = () => `wire: ${JSON.stringify(this.got.slice(0, 400))}`;
    const isThere = () => {
      if (this.answers(bodiless).length >= count) return true;
      if (this.closed) throw new Error(`closed before its answer. ${got()}`);
      return false;
    };
    await until(isThere, ms, got);
    return this.answers(bodiless);
  }

  async untilClosed(ms = ENDS_MS): Promise<void> {
    await untilPromised(
      () => this.closed,
      ms,
      () => `wire still open: ${JSON.stringify(this.got.slice(0, 400))}`,
    );
  }
}

/** Sends a request on a new connection. @param text the head without its blank line @param wire an unused connection */
export async function ask(
  t: Test,
  port: number,
  text: string,
  body: string | Buffer = '',
  wire = new Wire(t, port),
): Promise<Answer> {
  const lines = text.split('\n').map((line) => `${line.trim()}\r\n`);
  // Routes for this machine only accept only its own names in Host.
  const host = text.includes('/metrics') ? 'localhost' : 'x';
  wire.send(Buffer.concat([Buffer.from(`${lines.join('')}Host: ${host}\r\n\r\n`, 'latin1'), Buffer.from(body)]));
  const head = text.startsWith('HEAD') ? 1 : 0;
  const answers = await wire.take(1, PATIENCE_MS, head);
  const last = answers.find((answer) => answer.status >= 200) ?? (await wire.take(2, PATIENCE_MS, head))[1]!;
  wire.socket.destroy();
  const [method = '', url = ''] = text.split(/[ \n]/);
  for (const problem of answerProblems(method, url, last)) t.fail(`not in the document: ${problem}`);
  return last;
}

/** A WebSocket reader: what it was sent, and how it ended. */
export class Watching {
  readonly ws: WebSocket;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect the members that they expect
  readonly records: any[] = [];
  open = false;
  pings = 0;
  /** Code of the close frame; 1006: there was none. */
  code = 0;
  /** The answer that refused the upgrade. */
  refused: Answer | undefined;

  constructor(t: Test, url: string, options: { pong?: boolean; from?: string } = {}) {
    this.ws = new WebSocket(url, {
      autoPong: options.pong ?? true,
      ...(options.from === undefined ? {} : { localAddress: options.from }),
    });
    t.teardown(() => this.ws.terminate());
    this.ws.on('error', () => undefined);
    this.ws.on('open', () => {
      this.open = true;
    });
    this.ws.on('ping', () => this.pings++);
    this.ws.on('message', (data, binary) => {
      this.records.push(binary ? 'binary' : JSON.parse(data.toString()));
      for (const problem of messageProblems(url, this.records.at(-1))) t.fail(`not in the document: ${problem}`);
    });
    this.ws.on('close', (code) => {
      this.code = code;
    });
    this.ws.on('unexpected-response', (_, response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        body += text;
      });
      response.on('end', () => {
        const headers = new Map(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
        this.refused = { status: response.statusCode!, headers, body, json: () => JSON.parse(body) };
      });
    });
  }

  /** The received records, as `type song`. */
  get songs(): string[] {
    return this.records.map((record) => `${record.type} ${record.song}`);
  }

  async opened(): Promise<this> {
    await until(
      () => this.open,
      PATIENCE_MS,
      () => `watching: refused ${this.refused?.status}, closed ${this.code}`,
    );
    return this;
  }

  async has(count: number, ms = PATIENCE_MS): Promise<this> {
    await until(
      () => this.records.length >= count,
      ms,
      () => `watching: ${this.songs.slice(-20)}`,
    );
    return this;
  }

  async ends(ms = ENDS_MS): Promise<number> {
    await untilPromised(
      () => this.code !== 0,
      ms,
      () => `watching: still open, got ${this.records.length}`,
    );
    return this.code;
  }

  async isRefused(): Promise<Answer> {
    await until(
      () => this.refused !== undefined,
      PATIENCE_MS,
      () => `watching: not refused, open ${this.open}`,
    );
    return this.refused!;
  }
}

/** Waits until the other end, even in this process, has read everything written, so that later bytes arrive separately. */
export async function arrived(socket: net.Socket): Promise<void> {
  const hasCome = () => {
    if (socket.destroyed) return true;
    if (socket.connecting) return false;
    const peer = peerOf(socket);
    if (peer !== undefined) return peer.bytesRead >= socket.bytesWritten;
    return WORKERS > 0 && isRead(socket);
  };
  await until(hasCome, PATIENCE_MS, () => 'the other end does not read', 2);
}

/** The connections at a server's port, by the clients' ports. */
export function connectionsAt(port: number): number[] {
  return WORKERS > 0 ? heldAt(port) : accepted(port).map(({ remotePort }) => remotePort!);
}

/** The connections that this process has accepted on a port. */
export function accepted(port: number): net.Socket[] {
  const handles = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles();
  return handles.filter((handle): handle is net.Socket => handle instanceof net.Socket && handle.localPort === port);
}

/** The other end of a connection, in this process. */
export function peerOf(client: net.Socket): net.Socket {
  return accepted(client.remotePort!).find((socket) => socket.remotePort === client.localPort)!;
}
