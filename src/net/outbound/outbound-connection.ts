/**
 * The connection of a request of ours, for undici's `connect`: TCP or TLS, to a permitted address, with the response's head made strict HTTP
 * (response-head.ts).
 *
 *   socket ─► strict head, then the body unchanged ─► undici            undici ─► socket
 *     └─ not read while paused: data waits in the kernel, and then at the server
 *
 * The socket is paused, not undici's body: undici 7 fails an assertion if a FIN follows a paused body (its issue 5360). The
 * socket's own buffer may fill once more. Owned by one Outbound.
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
  /** Resolves a name; called once for each connection. */
  readonly lookup: LookupFunction;
  /** PEM of the trusted authorities; undefined: Node's. */
  readonly ca: Buffer | undefined;
  /** Longest head of a response. */
  readonly headBytes: number;
}

const MAX_UNREAD_BYTES = 64 * 1024;

type Written = { readonly chunk: Buffer; readonly encoding: BufferEncoding };

export class OutboundConnection extends Duplex {
  readonly socket: Socket;
  readonly #headBytes: number;
  /** The incomplete head; null: it was handed on. */
  #head: Buffer | null = Buffer.alloc(0);
  /** Length of the heads of interim responses, which are not handed on. */
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

  /** Head and body in one packet. */
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

/** Begins to connect. @returns an error if the target's literal address is private */
export function openSocket({ url, host, mayBePrivate }: Target, options: ConnectionOptions): Socket | Error {
  // The lookup is not called for an address.
  if (!mayBePrivate && isIP(host) !== 0 && isPrivate(host)) return new Error(PRIVATE_REASON);
  const isTls = url.protocol === 'https:';
  const to = {
    host,
    port: url.port !== '' ? Number(url.port) : isTls ? 443 : 80,
    lookup: mayBePrivate ? options.lookup : publicOnly(options.lookup),
    noDelay: true,
  };
  if (!isTls) return netConnect(to);
  // An address is not a server name (RFC 6066, 3), though the certificate is checked against it.
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
