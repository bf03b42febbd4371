/**
 * The connection under a request of ours, as undici's `connect` wants it: TCP or TLS, to an address that may be connected to, with an
 * answer whose head is strict HTTP (response-head.ts).
 *
 *   socket ─► head made strict, then the body as it comes ─► undici            undici ─► socket
 *     └─ not read while the socket is paused: what the server sends meanwhile waits in the kernel, and then at the server
 *
 * The socket is paused, and not undici's body: undici 7 fails an assertion where a FIN comes behind a body that is paused (its issue 5360). The
 * socket's own buffer takes one filling more. Owned by one Outbound.
 */

import { constants } from 'node:crypto';
import { isIP, type LookupFunction, connect as netConnect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as tlsConnect } from 'node:tls';
import { readResponseHead } from '../front/response-head.js';
import { limitServerKeys } from '../tls/key-updates.js';
import { isPrivate, PRIVATE_REASON, publicOnly } from './private-address.js';
import type { Target } from './target.js';

export interface ConnectionOptions {
  /** How a name becomes addresses; asked once for each connection. */
  readonly lookup: LookupFunction;
  /** PEM of the authorities that a server's certificate may be from; undefined: those that Node knows. */
  readonly ca: Buffer | undefined;
  /** Longest head of an answer. */
  readonly headBytes: number;
}

const MAX_UNREAD_BYTES = 64 * 1024;

type Written = { readonly chunk: Buffer; readonly encoding: BufferEncoding };

export class OutboundConnection extends Duplex {
  readonly socket: Socket;
  readonly #headBytes: number;
  /** What has come of the head; null: it was handed on. */
  #head: Buffer | null = Buffer.alloc(0);
  /** Of the headers of interim answers, which are not handed on. */
  #interimBytes = 0;
  #isSocketPaused = false;

  constructor(socket: Socket, headBytes: number) {
    super({ readableHighWaterMark: MAX_UNREAD_BYTES });
    this.socket = socket;
    this.#headBytes = headBytes;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('end', () => this.#end());
    socket.on('error', (error) => this.destroy(error));
  }

  /** Reads nothing more from the socket until `resumeSocket`. */
  pauseSocket(): void {
    this.#isSocketPaused = true;
    this.socket.pause();
  }

  resumeSocket(): void {
    this.#isSocketPaused = false;
    this.socket.resume();
  }

  override _read(): void {
    if (!this.#isSocketPaused) this.socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, onWritten: (error?: Error | null) => void): void {
    this.socket.write(chunk, onWritten);
  }

  /** A head and a body in one packet. */
  override _writev(parts: Written[], onWritten: (error?: Error | null) => void): void {
    this.socket.write(Buffer.concat(parts.map(({ chunk }) => chunk)), onWritten);
  }

  override _final(onFinished: (error?: Error | null) => void): void {
    this.socket.end(onFinished);
  }

  override _destroy(error: Error | null, onDestroyed: (error?: Error | null) => void): void {
    this.socket.destroy();
    onDestroyed(error);
  }

  #take(chunk: Buffer): void {
    if (this.#head === null) this.#handOn(chunk);
    else this.#takeHead(Buffer.concat([this.#head, chunk]), this.#head.length);
  }

  #takeHead(all: Buffer, seenBytes: number): void {
    let bytes = all;
    let found = readResponseHead(bytes, seenBytes);
    while (typeof found !== 'string' && found.head === null) {
      this.#interimBytes += found.endAt;
      bytes = bytes.subarray(found.endAt);
      found = readResponseHead(bytes);
    }
    this.#head = bytes;
    const headBytes = this.#interimBytes + (typeof found === 'string' ? bytes.length : found.endAt);
    if (found === 'wrong') this.destroy(new Error('the answer is not HTTP'));
    else if (headBytes > this.#headBytes) {
      this.destroy(new Error(`Header overflow: the head of the answer is larger than ${this.#headBytes} bytes`));
    } else if (found !== 'more') {
      this.#head = null;
      this.#handOn(found.head!);
      if (found.endAt < bytes.length) this.#handOn(bytes.subarray(found.endAt));
    }
  }

  #handOn(bytes: Buffer): void {
    if (!this.push(bytes)) this.socket.pause();
  }

  #end(): void {
    if (this.#head === null) this.push(null);
    else this.destroy(new Error('the connection ended before the answer'));
  }
}

/** Begins to connect. @returns why it may not, where the target's own address says so */
export function openSocket({ url, host, mayBePrivate }: Target, options: ConnectionOptions): Socket | Error {
  // For an address nothing is looked up.
  if (!mayBePrivate && isIP(host) !== 0 && isPrivate(host)) return new Error(PRIVATE_REASON);
  const isTls = url.protocol === 'https:';
  const to = {
    host,
    port: url.port !== '' ? Number(url.port) : isTls ? 443 : 80,
    lookup: mayBePrivate ? options.lookup : publicOnly(options.lookup),
    noDelay: true,
  };
  if (!isTls) return netConnect(to);
  // An address is not a server name (RFC 6066, 3); the certificate is checked against it all the same.
  const servername = isIP(host) === 0 ? host : '';
  const socket = tlsConnect({
    ...to,
    servername,
    ALPNProtocols: ['http/1.1'],
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    ...(options.ca !== undefined && { ca: options.ca }),
  });
  limitServerKeys(socket);
  return socket;
}
