/** Both ends of a link without a socket: a test delivers the bytes, in pieces of any size, until the link is cut. */

import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';

export class PipeEnd extends EventEmitter {
  writableLength = 0;
  peer: PipeEnd | null = null;
  isOver = false;
  /** Number of bytes written to it so far. */
  written = 0;
  /** True: nothing is delivered. */
  hold = false;
  readonly #pieces: Buffer[] = [];

  cork(): void {}
  uncork(): void {}

  write(bytes: Buffer): boolean {
    if (this.isOver) return false;
    this.#pieces.push(bytes);
    this.written += bytes.length;
    this.writableLength += bytes.length;
    return false;
  }

  /** Delivers at most `most` of the written bytes to the other end, in one chunk. Returns their number. */
  deliver(most: number): number {
    if (this.hold) return 0;
    const all = Buffer.concat(this.#pieces);
    const chunk = all.subarray(0, most);
    this.#pieces.length = 0;
    if (chunk.length < all.length) this.#pieces.push(all.subarray(chunk.length));
    this.writableLength = all.length - chunk.length;
    if (chunk.length > 0) this.peer!.emit('data', chunk);
    if (chunk.length > 0 && this.writableLength === 0) this.emit('drain');
    return chunk.length;
  }

  /** Ends the stream, as after a refusal; the other end reads everything at once. */
  end(): void {
    this.destroy();
  }

  /** As for a stream: nothing more is sent or received. */
  destroy(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.emit('close');
    this.peer?.destroy();
  }
}

export interface LinkPipe {
  readonly hub: PipeEnd;
  readonly worker: PipeEnd;
}

export function linkPipe(): LinkPipe {
  const [hub, worker] = [new PipeEnd(), new PipeEnd()];
  hub.peer = worker;
  worker.peer = hub;
  return { hub, worker };
}

/** An end, in the type for a LinkConnection. */
export function asStream(end: PipeEnd): Duplex {
  return end as unknown as Duplex;
}
