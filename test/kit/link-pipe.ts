/** Both ends of a link without a socket: bytes go over when a test says so, in pieces of any size, until it is cut. */

import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';

export class PipeEnd extends EventEmitter {
  writableLength = 0;
  peer: PipeEnd | null = null;
  isOver = false;
  /** Given to it since it began. */
  written = 0;
  /** Nothing goes over for now. */
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

  /** The other end gets `most` bytes of what was written, in one chunk. Returns how many there were. */
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

  /** As a stream that was refused: here the other end needs no time to read it. */
  end(): void {
    this.destroy();
  }

  /** As a stream: nothing more comes or goes. */
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

/** As a LinkConnection takes it. */
export function asStream(end: PipeEnd): Duplex {
  return end as unknown as Duplex;
}
