/**
 * A listener's socket. In the clear it takes whole buffers, which may be shared. Over TLS long ones go in pieces, each after the one before was
 * taken: OpenSSL's and Node's buffers of a connection grow to its longest write, and do not shrink while it lasts. Owned by its listener.
 */

import type { Socket } from 'node:net';
import { bareOf } from '../../net/front/tracked-connection.js';

/** What a listener may send after its request: pipelined requests, and TLS, where a byte in a record of its own costs 10 µs. */
export const MAX_RECEIVED_BYTES = 64 * 1024;
/** With TLS's overhead it fits into one record (RFC 8446, 5.1) and Node's first buffer of a connection. */
export const PIECE_BYTES = 16_000;
/** Two seconds at 128 kb/s: written whole, since each piece is a system call. */
export const MAX_WHOLE_BYTES = 40_000;
/** Four seconds at 256 kb/s: a send buffer takes it at once. */
const MAX_CLEAR_BYTES = 128 * 1024;

/** Maximum bytes of one write; a listener that needs more is written to more often. */
export function maxWriteBytes(socket: Socket): number {
  return isSecure(socket) ? MAX_WHOLE_BYTES : MAX_CLEAR_BYTES;
}

/** Whether it is over TLS. */
export function isSecure(socket: Socket): boolean {
  return bareOf(socket) !== socket;
}

export class ListenerSocket {
  readonly socket: Socket;
  bytes = 0;
  /** The socket below TLS, which counts all bytes received. */
  readonly #bare: Socket;
  readonly #maxBytesRead: number;
  readonly #isSecure: boolean;

  constructor(socket: Socket) {
    this.socket = socket;
    this.#bare = bareOf(socket);
    this.#isSecure = isSecure(socket);
    this.#maxBytesRead = this.#bare.bytesRead + MAX_RECEIVED_BYTES;
    // Without `_writev` a stream does not join waiting buffers, corked or not.
    if (this.#isSecure) (socket as { _writev?: unknown })._writev = undefined;
  }

  /** Whether it has sent more than MAX_RECEIVED_BYTES after its request. */
  get isFlooding(): boolean {
    return this.#bare.bytesRead > this.#maxBytesRead;
  }

  write(bytes: Buffer): void {
    const { socket } = this;
    this.bytes += bytes.length;
    if (!this.#isSecure || bytes.length <= MAX_WHOLE_BYTES) socket.write(bytes);
    else for (let at = 0; at < bytes.length; at += PIECE_BYTES) socket.write(bytes.subarray(at, at + PIECE_BYTES));
  }

  /** Writes short buffers at once. */
  writeAll(parts: readonly Buffer[]): void {
    const { socket } = this;
    if (this.#isSecure) {
      this.write(Buffer.concat(parts));
      return;
    }
    socket.cork();
    for (let i = 0; i < parts.length; i++) {
      this.bytes += parts[i]!.length;
      socket.write(parts[i]!);
    }
    socket.uncork();
  }
}
