/**
 * The tape of a channel: a ring of closed segments of about a second of audio each, and the open one at the live edge.
 *
 *        tail                              head
 *    ┌────┬────┬────┬────┬────┬────┬────┐┌ ─ ─ ┐
 *    │ 41 │ 42 │ 43 │ 44 │ 45 │ 46 │ 47 │  open     audio is cut in here, chunk by chunk
 *    └────┴────┴────┴────┴────┴────┴────┘└ ─ ─ ┘
 *
 * A segment is a few blocks of `metaint` audio bytes: a title can stand behind each of them, and yet a listener is written to once a second.
 * Frames have nothing to do with segments: a listener begins at a segment's *entry*, the first frame in it that it can begin with
 * (entry.ts). Invariants: segments tail ≤ seq < head can be read; what is older than `lagMs` of audio is forgotten, whatever the crowd
 * does; a chunk is copied once and never kept. Owned and written by one channel's ChannelAudio.
 */

import type { AudioTape } from './audio-tape.js';
import { joinAt } from './burst.js';
import { canEnter } from './entry.js';
import { type Mark, NO_MARKS, type PlacedMark } from './mark.js';
import { Segment } from './segment.js';

const FIRST_SLOTS = 64;
const NOTHING = Buffer.alloc(0);

export class Tape implements AudioTape {
  /** Audio bytes between two ICY blocks; promised to every listener, so it never changes. */
  readonly metaint: number;
  /** Audio bytes in a segment. */
  readonly segmentBytes: number;
  /** How much audio is kept, milliseconds. */
  readonly lagMs: number;
  /** Sequence number of the oldest segment that can be read, and of the one that will be closed next. */
  tail = 0;
  head = 0;
  isOver = false;

  /** No listener joins before this segment. */
  #fence = 0;
  #slots: (Segment | undefined)[] = new Array(FIRST_SLOTS).fill(undefined);
  /** Its zero bytes stand already; the audio goes between them. */
  #open: Buffer;
  /** Audio bytes in it. */
  #fill = 0;
  /** What `rest` gave of it without blocks, for all who ask. */
  #openRest: Buffer | undefined;
  #openStartMs = 0;
  #nowMs = 0;
  /** Where in the open segment a listener may begin; -1: no such frame has begun yet. */
  #entry = -1;
  #entryMs = 0;
  /** As of the last closed segment. */
  #lastEntry = -1;
  /** In force where the open segment begins, and those that take effect in it or will behind it. */
  #before: Mark | null;
  /** The latest title that came too late for the segment before. */
  #repeats: Mark | null = null;
  #marks: PlacedMark[] = [];

  /** @param blocks of metaint bytes in a segment */
  constructor(metaint: number, blocks: number, lagMs: number, mark: Mark | null) {
    this.metaint = metaint;
    this.segmentBytes = metaint * blocks;
    this.lagMs = lagMs;
    this.#before = mark;
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
  rest(seq: number, icy: boolean): Buffer {
    if (seq === this.head) {
      const length = this.#entry < 0 ? this.#fill : this.#entry;
      return icy ? this.#open.subarray(0, this.#withBlocks(length)) : (this.#openRest ??= this.#audio(length));
    }
    const slots = this.#slots;
    const segment = seq < this.head && seq >= this.head - slots.length ? slots[seq & (slots.length - 1)] : undefined;
    if (segment === undefined || segment.entry <= 0) return NOTHING;
    return icy ? segment.bytes.subarray(0, this.#withBlocks(segment.entry)) : segment.plain.subarray(0, segment.entry);
  }

  /** Bytes of so much of a segment's audio with the blocks before its end. */
  #withBlocks(audioBytes: number): number {
    return audioBytes + Math.max(0, Math.ceil(audioBytes / this.metaint) - 1);
  }

  rendering(): null {
    return null;
  }

  get endMs(): number {
    return this.#nowMs;
  }

  put(mark: Mark, atMs: number, aheadBytes = 0): void {
    if (atMs < this.#openStartMs) {
      this.#putLate(mark, atMs);
      return;
    }
    const { metaint } = this;
    const last = this.#marks.at(-1);
    const atByte = Math.max(this.#fill + aheadBytes, last?.atByte ?? 0);
    if (atByte === 0) {
      this.#before = mark;
      return;
    }
    const before = atByte - (atByte % metaint);
    const isBeforeNearer = atByte - before <= metaint / 2 && before >= this.#fill && before > 0;
    const blockByte = Math.max(isBeforeNearer ? before : atByte, last?.blockByte ?? 0);
    this.#marks.push({ mark, atMs, atByte, blockByte });
  }

  /**
   * Appends a whole frame; `durationMs` is its playing time. A full segment is closed by the byte after it, so that a title which
   * takes effect exactly at its end still goes into its last block.
   */
  write(frame: Buffer, durationMs: number): void {
    const { metaint, segmentBytes } = this;
    const msPerByte = durationMs / frame.length;
    const frameMs = this.#nowMs;
    this.#openRest = undefined;
    let from = 0;
    while (from < frame.length) {
      if (this.#fill === segmentBytes) this.#close();
      if (from === 0) this.#enter(frame);
      const blocks = Math.floor(this.#fill / metaint);
      const n = Math.min((blocks + 1) * metaint - this.#fill, frame.length - from);
      frame.copy(this.#open, this.#fill + blocks, from, from + n);
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
    if (this.#entry >= 0 || !canEnter(frame, this.#fill, this.segmentBytes)) return;
    this.#entry = this.#fill;
    this.#entryMs = this.#nowMs;
  }

  #close(): void {
    if (this.head - this.tail === this.#slots.length) this.#grow();
    if (this.#entry >= 0) this.#lastEntry = this.head;
    const ahead = this.#marks.length === 0 ? this.#marks : this.#takeAhead();
    const segment = new Segment({
      bytes: this.#open,
      metaint: this.metaint,
      startMs: this.#openStartMs,
      endMs: this.#nowMs,
      entry: this.#entry,
      entryMs: this.#entryMs,
      lastEntry: this.#lastEntry,
      before: this.#before,
      marks: this.#marks.length === 0 ? NO_MARKS : this.#marks,
      repeats: this.#repeats,
      following: ahead.findLast(({ blockByte }) => blockByte === 0)?.mark ?? null,
    });
    this.#slots[this.head & (this.#slots.length - 1)] = segment;
    this.head++;
    this.#before = segment.mark;
    this.#marks = ahead;
    this.#repeats = null;
    this.#openStartMs = this.#nowMs;
    this.#open = this.#blank();
    this.#fill = 0;
    this.#entry = -1;
    this.#forget();
  }

  /** Takes the marks that will take effect behind the open segment out of those in it, as the next one has them. */
  #takeAhead(): PlacedMark[] {
    const { segmentBytes } = this;
    let here = this.#marks.length;
    while (here > 0 && this.#marks[here - 1]!.atByte > segmentBytes) here--;
    return this.#marks.splice(here).map(({ mark, atMs, atByte, blockByte }) => ({
      mark,
      atMs,
      atByte: atByte - segmentBytes,
      blockByte: Math.max(0, blockByte - segmentBytes),
    }));
  }

  /** Its place is behind that of all other titles: from there on the tape has this one, the open segment from its first block on. */
  #putLate(mark: Mark, atMs: number): void {
    this.#repeats = mark;
    this.#marks = [...this.#marks.filter(({ blockByte }) => blockByte === 0), { mark, atMs, atByte: 0, blockByte: 1 }];
    for (let seq = this.head - 1; seq >= this.tail; seq--) {
      const segment = this.at(seq)!;
      if (segment.endMs <= atMs) return;
      segment.revise(mark, atMs);
    }
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

  /** Of the open segment, without its blocks. */
  #audio(length: number): Buffer {
    const { metaint } = this;
    const out = Buffer.allocUnsafeSlow(length);
    for (let at = 0; at < length; at += metaint) {
      const from = at + at / metaint;
      this.#open.copy(out, at, from, from + Math.min(metaint, length - at));
    }
    return out;
  }

  /** A buffer of its own, not of Node's pool: sockets may hold it long after the tape forgot it. Behind each block of it is a 0. */
  #blank(): Buffer {
    const { metaint, segmentBytes } = this;
    const bytes = Buffer.allocUnsafeSlow(segmentBytes + segmentBytes / metaint);
    for (let at = metaint; at < bytes.length; at += metaint + 1) bytes[at] = 0;
    return bytes;
  }
}
