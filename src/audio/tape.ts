/**
 * The tape of a channel: a ring of closed segments of `metaint` audio bytes, and the open one at the live edge.
 *
 *        tail                              head
 *    ┌────┬────┬────┬────┬────┬────┬────┐┌ ─ ─ ┐
 *    │ 41 │ 42 │ 43 │ 44 │ 45 │ 46 │ 47 │  open     audio is cut in here, chunk by chunk
 *    └────┴────┴────┴────┴────┴────┴────┘└ ─ ─ ┘
 *
 * Invariants: segments tail ≤ seq < head can be read; what is older than `lagMs` of audio is forgotten, whatever the crowd
 * does; a chunk is copied once and never kept. Owned by one channel, written by nobody else.
 */

import type { Mark } from './mark.js';
import { Segment } from './segment.js';

const FIRST_SLOTS = 64;

export class Tape {
  /** Audio bytes between two ICY blocks; promised to every listener, so it never changes. */
  readonly metaint: number;
  /** How much audio is kept, milliseconds. */
  readonly lagMs: number;
  /** Sequence number of the oldest segment that can be read, and of the one that will be closed next. */
  tail = 0;
  head = 0;

  /** Nobody joins before this segment. */
  #fence = 0;
  #slots: (Segment | undefined)[] = new Array(FIRST_SLOTS).fill(undefined);
  #open: Buffer;
  #fill = 0;
  #openStartMs = 0;
  #nowMs = 0;
  #before: Mark | null;
  #mark: Mark | null;

  constructor(metaint: number, lagMs: number, mark: Mark | null) {
    this.metaint = metaint;
    this.lagMs = lagMs;
    this.#before = mark;
    this.#mark = mark;
    this.#open = this.#blank();
  }

  /** Audio time at the end of the last closed segment, milliseconds since the tape began. */
  get edgeMs(): number {
    return this.#openStartMs;
  }

  /** The segment with this number; undefined when it is not (or no longer) on the tape. */
  at(seq: number): Segment | undefined {
    return seq >= this.tail && seq < this.head ? this.#slots[seq & (this.#slots.length - 1)] : undefined;
  }

  /** The title takes effect at the present end of the tape: the next block that closes carries it. */
  put(mark: Mark): void {
    this.#mark = mark;
    if (this.#fill === 0) this.#before = mark;
  }

  /**
   * Appends audio; `durationMs` is the playing time of exactly these bytes. A full segment is closed by the byte after it, so that
   * a title which takes effect exactly at its end still goes into its block: the first block at or after that byte.
   */
  write(bytes: Buffer, durationMs: number): void {
    const msPerByte = durationMs / bytes.length;
    let from = 0;
    while (from < bytes.length) {
      if (this.#fill === this.metaint) this.#close();
      const n = Math.min(this.metaint - this.#fill, bytes.length - from);
      bytes.copy(this.#open, this.#fill, from, from + n);
      this.#fill += n;
      this.#nowMs += n * msPerByte;
      from += n;
    }
  }

  /**
   * Where a listener begins who shall get `burstMs` of audio at once: the newest segment that has at least that much behind
   * it, else the oldest; `head` when the burst is 0 or nothing is closed yet.
   */
  joinAt(burstMs: number): number {
    let seq = Math.max(this.head, this.#fence);
    if (burstMs <= 0) return seq;
    while (seq > this.tail && seq > this.#fence) {
      seq--;
      if (this.#openStartMs - this.#slots[seq & (this.#slots.length - 1)]!.startMs >= burstMs) break;
    }
    return seq;
  }

  /** What lies on the tape so far is nothing for those who join from here on. */
  fence(): void {
    this.#fence = this.#fill === 0 ? this.head : this.head + 1;
  }

  #close(): void {
    if (this.head - this.tail === this.#slots.length) this.#grow();
    const segment = new Segment(this.#open, this.#openStartMs, this.#nowMs, this.#before, this.#mark);
    this.#slots[this.head & (this.#slots.length - 1)] = segment;
    this.head++;
    this.#before = this.#mark;
    this.#openStartMs = this.#nowMs;
    this.#open = this.#blank();
    this.#fill = 0;
    this.#forget();
  }

  #forget(): void {
    const mask = this.#slots.length - 1;
    while (this.tail < this.head - 1 && this.#nowMs - this.#slots[this.tail & mask]!.endMs > this.lagMs) {
      this.#slots[this.tail & mask] = undefined;
      this.tail++;
    }
  }

  #grow(): void {
    const old = this.#slots;
    const bigger: (Segment | undefined)[] = new Array(old.length * 2).fill(undefined);
    for (let seq = this.tail; seq < this.head; seq++) {
      bigger[seq & (bigger.length - 1)] = old[seq & (old.length - 1)];
    }
    this.#slots = bigger;
  }

  /** A buffer of its own, not of Node's pool: sockets may hold it long after the tape forgot it. Its last byte is the 0. */
  #blank(): Buffer {
    const bytes = Buffer.allocUnsafeSlow(this.metaint + 1);
    bytes[this.metaint] = 0;
    return bytes;
  }
}
