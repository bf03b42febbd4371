/**
 * The bare connection beneath a TLS connection to a server, where its TLSSocket, and so the key log (key-updates.ts), is out of reach. It is closed
 * where the server sends too many records without data: a change of its key is one. What a record is, is encrypted; where it ends is not.
 *
 *   socket ─► record by record ─► TLS ─► data: dataCame()          TLS ─► socket
 */

import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { MAX_KEY_UPDATES, MinuteCount } from './key-updates.js';

/** More records without data than a handshake has, with its session tickets. */
const HANDSHAKE_RECORDS = 16;
export const MAX_SILENT_RECORDS = MAX_KEY_UPDATES + HANDSHAKE_RECORDS;
/** Of a record: its type, a version, and a length of two bytes (RFC 8446, 5.1). */
const HEAD_BYTES = 5;

export class SilentRecordLimit extends Duplex {
  readonly #socket: Socket;
  readonly #silent = new MinuteCount(MAX_SILENT_RECORDS);
  /** Of the present record: the bytes of its head so far, and what is left of its content. */
  #headBytes = 0;
  #left = 0;

  constructor(socket: Socket) {
    // Nothing is kept here: past the first byte the socket waits.
    super({ readableHighWaterMark: 1 });
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  /** A record with data came: called for each piece of plaintext. */
  dataCame(): void {
    this.#silent.takeBack();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, onWritten: (error?: Error | null) => void): void {
    this.#socket.write(chunk, onWritten);
  }

  override _final(onFinished: (error?: Error | null) => void): void {
    this.#socket.end(onFinished);
  }

  override _destroy(error: Error | null, onDestroyed: (error?: Error | null) => void): void {
    this.#socket.destroy();
    onDestroyed(error);
  }

  /** Record by record, since TLS reads all that it gets in one go. */
  #take(chunk: Buffer): void {
    for (let [from, at] = [0, 0]; from < chunk.length && !this.destroyed; from = at) {
      while (at < chunk.length && this.#headBytes < HEAD_BYTES) {
        this.#left = ((this.#left << 8) | chunk[at++]!) & 0xffff;
        this.#headBytes++;
      }
      const content = this.#headBytes < HEAD_BYTES ? 0 : Math.min(this.#left, chunk.length - at);
      at += content;
      this.#left -= content;
      const isWhole = this.#headBytes === HEAD_BYTES && this.#left === 0;
      if (isWhole) this.#headBytes = 0;
      if (isWhole && !this.#silent.isWithin()) {
        this.destroy(new Error(`it sends more than ${MAX_SILENT_RECORDS} TLS records without data in a minute`));
      } else if (!this.push(chunk.subarray(from, at))) this.#socket.pause();
    }
  }
}
