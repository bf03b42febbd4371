/**
 * A request for a mount, read either directly from the socket (listener-acceptor.ts; without HTTP objects, which saves three quarters of a listener's
 * memory and half the cost of joining), or by Node's HTTP server, if it was not the first request on its connection.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Refusal } from '../../base/refusal.js';
import { targetOf } from '../../base/request-target.js';
import type { ListenerRequest } from '../../listener/listener-stats.js';
import type { RequestHead } from '../../net/front/request-head.js';
import { connectionId } from '../../net/front/tracked-connection.js';
import type { AddressHeaders } from '../legacy.js';
import type { Pipeline } from '../pipeline.js';
import { endWithProblem, sendProblem } from '../problem.js';

const CORS = { 'Access-Control-Allow-Origin': '*' };

export interface StreamRequest extends ListenerRequest {
  /** Headers of every answer of this address. Code that writes to the taken connection must add them. */
  readonly addressHeaders: AddressHeaders;
  /** Its id, for the log. */
  readonly connection: string | undefined;
  readonly gone: boolean;
  /** Prepares for a late answer: no other request is answered on this connection, and its end is noticed. */
  wait(): void;
  /** Detaches the connection from HTTP. Nothing else may be called afterwards. */
  take(): Socket;
  /** Sends these bytes and closes the connection. */
  answer(bytes: Buffer): void;
  refuse(refusal: Refusal): void;
  /** Answers 302. */
  redirect(location: string): void;
}

/** A request read by Node's HTTP server. */
export class HttpStreamRequest implements StreamRequest {
  readonly addressHeaders: AddressHeaders;
  readonly address: string;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #pipeline: Pipeline;
  #hasWaited = false;

  /** @param pipeline that of its connection, which `take` detaches */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    pipeline: Pipeline,
    addressHeaders: AddressHeaders,
    address: string,
  ) {
    this.addressHeaders = addressHeaders;
    this.address = address;
    this.#request = request;
    this.#response = response;
    this.#pipeline = pipeline;
  }

  get method(): string {
    return this.#request.method!;
  }

  get url(): string {
    return this.#request.url!;
  }

  get connection(): string | undefined {
    return connectionId(this.#request.socket);
  }

  get gone(): boolean {
    return this.#response.destroyed || this.#response.socket === null;
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.at(-1) : value;
  }

  wait(): void {
    this.#hasWaited = true;
    this.#pipeline.ignoreRest();
    // It may wait longer than a connection may be idle (router.ts); the caller limits the wait.
    this.#request.socket.setTimeout(0);
  }

  take(): Socket {
    const { socket } = this.#request;
    this.#pipeline.release();
    this.#response.detachSocket(socket);
    socket.setTimeout(0);
    // Further bytes of the client are read and dropped, so that its end is noticed.
    socket.resume();
    return socket;
  }

  answer(bytes: Buffer): void {
    const socket = this.take();
    socket.on('error', () => undefined).write(bytes);
    socket.destroySoon();
  }

  refuse(refusal: Refusal): void {
    // wait() may have dropped further requests.
    sendProblem(this.#response, refusal, this.#hasWaited ? { ...CORS, Connection: 'close' } : CORS);
  }

  redirect(location: string): void {
    this.#response.writeHead(302, { ...redirectHeaders(location), 'Content-Length': 0 }).end();
  }
}

/** A request read directly from the socket. */
export class SocketStreamRequest implements StreamRequest {
  readonly method: string;
  readonly url: string;
  readonly addressHeaders: AddressHeaders;
  readonly address: string;
  readonly #socket: Socket;
  readonly #headers: ReadonlyMap<string, string>;

  constructor(socket: Socket, head: RequestHead, addressHeaders: AddressHeaders, address: string) {
    this.#socket = socket;
    this.addressHeaders = addressHeaders;
    this.address = address;
    this.method = head.method;
    this.url = targetOf(head);
    this.#headers = head.headers;
    // While it waits, an error or a half-close means that the client has gone.
    socket.on('error', () => undefined);
    socket.on('end', () => socket.destroy());
    socket.resume();
  }

  get connection(): string | undefined {
    return connectionId(this.#socket);
  }

  get gone(): boolean {
    return this.#socket.destroyed;
  }

  header(name: string): string | undefined {
    return this.#headers.get(name);
  }

  /** The connection serves no other request anyway. */
  wait(): void {}

  take(): Socket {
    this.#socket.removeAllListeners('end');
    this.#socket.removeAllListeners('error');
    return this.#socket;
  }

  answer(bytes: Buffer): void {
    this.#socket.write(bytes);
    this.#socket.destroySoon();
  }

  refuse(refusal: Refusal): void {
    const asked = { accept: this.header('accept'), 'accept-language': this.header('accept-language') };
    endWithProblem(this.take(), refusal, { ...CORS, ...this.addressHeaders }, asked);
  }

  redirect(location: string): void {
    const headers = { ...redirectHeaders(location), 'Content-Length': 0, ...this.addressHeaders, Connection: 'close' };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    this.answer(Buffer.from(`HTTP/1.1 302 Found\r\n${lines.join('')}\r\n`));
  }
}

function redirectHeaders(location: string): Record<string, string> {
  return { Location: location, 'Cache-Control': 'no-store', ...CORS };
}
