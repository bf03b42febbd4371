/**
 * The responses of all connections (router.ts). TLS encrypts all bytes at once, and keeps a copy for each client that does not read, while in the
 * clear all clients share one body. So over TLS a long body goes out in pieces, each after the previous one has been taken.
 */

import { type IncomingMessage, ServerResponse } from 'node:http';

const PIECE_BYTES = 64 * 1024;

export class WholeResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  #isWhole = false;

  /** Whether the whole answer was written, though some of it may not have been sent. */
  get isWhole(): boolean {
    return this.#isWhole || this.writableEnded;
  }

  override end(chunk?: unknown, encoding?: unknown, done?: unknown): this {
    // Nothing may be written between its pieces.
    if (this.#isWhole) return this;
    const body = this.#longBody(chunk, encoding);
    if (body === null) return super.end(chunk, encoding as BufferEncoding, done as () => void);
    this.#isWhole = true;
    if (!this.headersSent && !this.hasHeader('Content-Length')) this.setHeader('Content-Length', body.length);
    const onEnd = [encoding, done].find((each) => typeof each === 'function') as (() => void) | undefined;
    this.#send(body, 0, onEnd);
    return this;
  }

  /** Null: the body is sent at once. */
  #longBody(chunk: unknown, encoding: unknown): Buffer | null {
    if (this.socket === null || !('encrypted' in this.socket)) return null;
    if (typeof chunk === 'string' && chunk.length > PIECE_BYTES) {
      return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : undefined);
    }
    return Buffer.isBuffer(chunk) && chunk.length > PIECE_BYTES ? chunk : null;
  }

  #send(body: Buffer, from: number, onEnd: (() => void) | undefined): void {
    let at = from;
    for (; body.length - at > PIECE_BYTES; at += PIECE_BYTES) {
      if (this.destroyed) return;
      if (this.write(body.subarray(at, at + PIECE_BYTES))) continue;
      const next = at + PIECE_BYTES;
      this.once('drain', () => this.#send(body, next, onEnd));
      return;
    }
    super.end(body.subarray(at), onEnd);
  }
}
