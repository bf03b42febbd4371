/**
 * The tape of a channel: a ring of closed segments of `metaint` audio bytes, and the open one at the live edge.
 *
 *        tail                              head
 *    ┌────┬────┬────┬────┬────┬────┬────┐┌ ─ ─ ┐
 *    │ 41 │ 42 │ 43 │ 44 │ 45 │ 46 │ 47 │  open     audio is cut in here, chunk by chunk
 *    └────┴────┴────┴────┴────┴────┴────┘└ ─ ─ ┘
 *
 * Frames have nothing to do with segments: a listener begins at a segment's *entry*, the first frame in it that it can begin with
 * (entry.ts). Invariants: segments tail ≤ seq < head can be read; what is older than `lagMs` of audio is forgotten, whatever the crowd
 * does; a chunk is copied once and never kept. Owned and written by one channel's ChannelAudio.
 */

import type { AudioTape } from './audio-tape.js';
import { joinAt } from './burst.js';
import { canEnter } from './entry.js';
import type { Mark } from './mark.js';
import { Segment } from './segment.js';

const FIRST_SLOTS = 64;
const NOTHING = Buffer.alloc(0);

export class Tape implements AudioTape {
  /** Audio bytes between two ICY blocks; promised to every listener, so it never changes. */
  readonly metaint: number;
  /** How much audio is kept, milliseconds. */
  readonly lagMs: number;
  /** Sequence number of the oldest segment that can be read, and of the one that will be closed next. */
  tail = 0;
  head = 0;
  isOver = false;

  /** No listener joins before this segment. */
  #fence = 0;
  #slots: (Segment | undefined)[] = new Array(FIRST_SLOTS).fill(undefined);
  #open: Buffer;
  #fill = 0;
  #openStartMs = 0;
  #nowMs = 0;
  /** Where in the open segment a listener may begin; -1: no such frame has begun yet. */
  #entry = -1;
  #entryMs = 0;
  /** As of the last closed segment. */
  #lastEntry = -1;
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

  /** Of the open segment too: frames come whole, so what its first bytes are is known at once. Also after the tape's end. */
  rest(seq: number): Buffer {
    if (seq === this.head) return this.#open.subarray(0, this.#entry < 0 ? this.#fill : this.#entry);
    const slots = this.#slots;
    const segment = seq < this.head && seq >= this.head - slots.length ? slots[seq & (slots.length - 1)] : undefined;
    return segment === undefined ? NOTHING : segment.plain.subarray(0, Math.max(0, segment.entry));
  }

  phase(): null {
    return null;
  }

  /** The title takes effect at the present end of the tape: the next block that closes carries it. */
  put(mark: Mark): void {
    this.#mark = mark;
    if (this.#fill === 0) this.#before = mark;
  }

  /**
   * Appends a whole frame; `durationMs` is its playing time. A full segment is closed by the byte after it, so that a title which
   * takes effect exactly at its end still goes into its block: the first block at or after that byte.
   */
  write(frame: Buffer, durationMs: number): void {
    const msPerByte = durationMs / frame.length;
    const frameMs = this.#nowMs;
    let from = 0;
    while (from < frame.length) {
      if (this.#fill === this.metaint) this.#close();
      if (from === 0) this.#enter(frame);
      const n = Math.min(this.metaint - this.#fill, frame.length - from);
      frame.copy(this.#open, this.#fill, from, from + n);
      this.#fill += n;
      from += n;
      this.#nowMs = from === frame.length ? frameMs + durationMs : frameMs + from * msPerByte;
    }
  }

  lastEntry(seq: number): number {
    return this.at(seq)?.lastEntry ?? -1;
  }

  joinAt(burstMs: number): number {
    return joinAt(this, this.#fence, burstMs);
  }

  /** What lies on the tape so far is nothing for listeners that join from here on. */
  fence(): void {
    this.#fence = this.#fill === 0 ? this.head : this.head + 1;
  }

  /** The audio goes on in a format that this tape's listeners were not promised. */
  end(): void {
    this.isOver = true;
    this.tail = Number.POSITIVE_INFINITY;
  }

  /** A frame begins here. */
  #enter(frame: Buffer): void {
    if (this.#entry >= 0 || !canEnter(frame, this.#fill, this.metaint)) return;
    this.#entry = this.#fill;
    this.#entryMs = this.#nowMs;
  }

  #close(): void {
    if (this.head - this.tail === this.#slots.length) this.#grow();
    if (this.#entry >= 0) this.#lastEntry = this.head;
    const segment = new Segment({
      bytes: this.#open,
      startMs: this.#openStartMs,
      endMs: this.#nowMs,
      entry: this.#entry,
      entryMs: this.#entryMs,
      lastEntry: this.#lastEntry,
      before: this.#before,
      mark: this.#mark,
    });
    this.#slots[this.head & (this.#slots.length - 1)] = segment;
    this.head++;
    this.#before = this.#mark;
    this.#openStartMs = this.#nowMs;
    this.#open = this.#blank();
    this.#fill = 0;
    this.#entry = -1;
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
