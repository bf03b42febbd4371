/**
 * The tape of a channel: a ring of closed segments of about a second of audio each, and the open one at the live edge.
 *
 *        tail                              head
 *    ┌────┬────┬────┬────┬────┬────┬────┐┌ ─ ─ ┐
 *    │ 41 │ 42 │ 43 │ 44 │ 45 │ 46 │ 47 │  open     audio is written here, chunk by chunk
 *    └────┴────┴────┴────┴────┴────┴────┘└ ─ ─ ┘
 *
 * A segment is a few blocks of `metaint` audio bytes: a title can follow each of them, and yet a listener is written to once a second.
 * Frames are not aligned with segments: a listener begins at a segment's *entry*, the first frame in it that it can begin with
 * (entry.ts). Invariants: segments tail ≤ seq < head can be read; those older than `lagMs` of audio are forgotten, however slow listeners
 * are; a chunk is copied once and never kept. Owned and written by one channel's ChannelAudio.
 */

import type { AudioTape, WritableTape } from './audio-tape.js';
import { BaseTape, type TapeBeginning } from './base-tape.js';
import { canEnter } from './entry.js';
import { type Mark, NO_MARKS, type PlacedMark } from './mark.js';
import { Segment, type SegmentFacts, withBlocksBytes } from './segment.js';

/** Buffers of forgotten segments, for reuse: with each segment that is closed the tape forgets about one. */
const MAX_SPARES = 4;

/** The open segment, between two frames. */
export interface OpenSegment
  extends Pick<SegmentFacts, 'endMs' | 'entry' | 'entryMs' | 'before' | 'repeats' | 'marks'> {
  /** Without its blocks. */
  readonly audio: Buffer;
}

export class Tape extends BaseTape<Segment> implements WritableTape {
  /** Its empty blocks are written already; the audio goes between them. */
  #open: Buffer;
  /** Audio bytes in it. */
  #fill = 0;
  /** The shared result of `rest` without blocks. */
  #openRest: Buffer | undefined;
  /** Offset in the open segment at which a listener may begin; -1: no such frame has begun yet. */
  #entry = -1;
  #entryMs = 0;
  /** `lastEntry` of the last closed segment. */
  #lastEntry = -1;
  /** The mark in force where the open segment begins. */
  #before: Mark | null;
  /** The latest title that came too late for the segment before. */
  #repeats: Mark | null = null;
  /** Marks that take effect in it, or will behind it. */
  #marks: PlacedMark[] = [];
  /** No reader holds bytes of this segment or of later ones. */
  #freeFrom = 0;
  /** Buffers of forgotten segments that no reader holds, for the next ones. */
  readonly #spares: Buffer[] = [];

  /** @param blocks of metaint bytes in a segment */
  constructor(metaint: number, blocks: number, lagMs: number, mark: Mark | null, begin: TapeBeginning = {}) {
    super({ metaint, segmentBytes: metaint * blocks, lagMs, ...begin });
    this.#before = mark;
    this.#open = this.#blank();
  }

  /**
   * A tape that continues that of another process: its closed segments (at least one), and of the open one the rest of the frame that their end cuts,
   * since no listener was sent more. @param open the whole open segment, if known
   */
  static adopt(from: AudioTape, open?: OpenSegment): Tape {
    const { metaint, segmentBytes, lagMs, tail, head } = from;
    const begin = { first: tail, startMs: from.at(tail)!.startMs };
    const tape = new Tape(metaint, segmentBytes / metaint, lagMs, null, begin);
    tape.addAll(from);
    const last = from.at(head - 1) as Segment;
    if (open === undefined) tape.#adopt(last, from.rest(head, false));
    else tape.#adoptOpen(last, open);
    // Their memory is not the tape's own.
    tape.held();
    return tape;
  }

  get openRestBytes(): number {
    return this.#entry < 0 ? this.#fill : this.#entry;
  }

  /** Of the open segment too: frames are written whole, so its first bytes are known at once. Also after the tape's end. */
  override rest(seq: number, icy: boolean): Buffer {
    if (seq !== this.head) return super.rest(seq, icy);
    const length = this.openRestBytes;
    if (icy) return this.#open.subarray(0, withBlocksBytes(length, this.metaint));
    return (this.#openRest ??= this.#audio(length));
  }

  rendering(): null {
    return null;
  }

  get open(): OpenSegment {
    return {
      audio: this.#audio(this.#fill),
      endMs: this.endMs,
      entry: this.#entry,
      entryMs: this.#entryMs,
      before: this.#before,
      repeats: this.#repeats,
      marks: this.#marks,
    };
  }

  /** The last title on it, and its audio time. */
  get lastTitle(): { readonly mark: Mark | null; readonly atMs: number } {
    return this.#marks.at(-1) ?? { mark: this.#before, atMs: this.lastPlaced?.atMs ?? 0 };
  }

  put(mark: Mark, atMs: number, aheadBytes = 0): void {
    if (atMs < this.edgeMs) {
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
    // A place that was known ahead may use the block before it, even one of the open segment, which no listener was sent yet.
    const isBeforeNearer = atByte - before <= metaint / 2 && (before >= this.#fill || aheadBytes > 0) && before > 0;
    const blockByte = Math.max(isBeforeNearer ? before : atByte, last?.blockByte ?? 0);
    this.#marks.push({ mark, atMs, atByte, blockByte });
  }

  /**
   * Appends a whole frame; `durationMs` is its playing time. A full segment is closed by the next byte, so that a title exactly at its end still goes
   * into its last block.
   */
  write(frame: Buffer, durationMs: number): void {
    this.#append(frame, durationMs, true);
  }

  #append(frame: Buffer, durationMs: number, isFrame: boolean): void {
    const { metaint, segmentBytes } = this;
    const msPerByte = durationMs / frame.length;
    const frameMs = this.endMs;
    this.#openRest = undefined;
    let from = 0;
    while (from < frame.length) {
      if (this.#fill === segmentBytes) this.#close();
      if (from === 0 && isFrame) this.#enter(frame);
      const blocks = Math.floor(this.#fill / metaint);
      const n = Math.min((blocks + 1) * metaint - this.#fill, frame.length - from);
      frame.copy(this.#open, this.#fill + blocks, from, from + n);
      this.#fill += n;
      from += n;
      this.endMs = from === frame.length ? frameMs + durationMs : frameMs + from * msPerByte;
    }
  }

  lastEntry(seq: number): number {
    return this.at(seq)?.lastEntry ?? -1;
  }

  fence(): void {
    this.fenceAt(this.#fill === 0 ? this.head : this.head + 1);
  }

  override held(): void {
    // The open one too, since `rest` gives its bytes.
    this.#freeFrom = this.head + 1;
  }

  protected override onForgotten({ bytes }: Segment, seq: number): void {
    if (seq >= this.#freeFrom && this.#spares.length < MAX_SPARES) this.#spares.push(bytes);
  }

  /** @param last the last closed segment of the other process @param rest what follows it */
  #adopt(last: Segment, rest: Buffer): void {
    const { edgeMs } = this;
    const { late, following, marks, before, lastEntry, startMs, endMs } = last;
    this.#lastEntry = lastEntry;
    this.#before = last.mark;
    if (late !== null) {
      // It came while the open segment was open: some listeners were sent the last one without it.
      const placed = marks.find(({ mark }) => mark === late)!;
      this.#repeats = late;
      this.#before = marks.findLast(({ mark }) => mark !== late)?.mark ?? before;
      this.#marks = [{ mark: late, atMs: placed.atMs, atByte: 0, blockByte: 1 }];
    } else if (following !== null) this.#marks = [{ mark: following, atMs: edgeMs, atByte: 0, blockByte: 0 }];
    this.#append(rest, ((endMs - startMs) / this.segmentBytes) * rest.length, false);
  }

  #adoptOpen(last: Segment, { audio, endMs, entry, entryMs, before, repeats, marks }: OpenSegment): void {
    this.#lastEntry = last.lastEntry;
    this.#before = before;
    this.#repeats = repeats;
    this.#marks = [...marks];
    this.#append(audio, endMs - this.endMs, false);
    this.endMs = endMs;
    this.#entry = entry;
    this.#entryMs = entryMs;
  }

  /** A frame begins here: it is the entry if it is the first that can be one. */
  #enter(frame: Buffer): void {
    if (this.#entry >= 0 || !canEnter(frame, this.#fill, this.segmentBytes)) return;
    this.#entry = this.#fill;
    this.#entryMs = this.endMs;
  }

  #close(): void {
    if (this.#entry >= 0) this.#lastEntry = this.head;
    const ahead = this.#marks.length === 0 ? this.#marks : this.#takeAhead();
    const segment = new Segment({
      bytes: this.#open,
      metaint: this.metaint,
      startMs: this.edgeMs,
      endMs: this.endMs,
      entry: this.#entry,
      entryMs: this.#entryMs,
      lastEntry: this.#lastEntry,
      before: this.#before,
      marks: this.#marks.length === 0 ? NO_MARKS : this.#marks,
      repeats: this.#repeats,
      following: ahead.findLast(({ blockByte }) => blockByte === 0)?.mark ?? null,
    });
    this.add(segment);
    this.#before = segment.mark;
    this.#marks = ahead;
    this.#repeats = null;
    this.#open = this.#blank();
    this.#fill = 0;
    this.#entry = -1;
  }

  /** Removes the marks that will take effect behind the open segment, and returns them with their places in the next one. */
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

  /** Its place is behind those of all other titles: the tape has this one from there on, the open segment from its first block on. */
  #putLate(mark: Mark, atMs: number): void {
    this.#repeats = mark;
    this.#marks = [...this.#marks.filter(({ blockByte }) => blockByte === 0), { mark, atMs, atByte: 0, blockByte: 1 }];
    const { head } = this;
    for (let seq = this.firstAfter(atMs); seq < head; seq++) this.at(seq)!.revise(mark, atMs);
  }

  /** Audio of the open segment, without its blocks. */
  #audio(length: number): Buffer {
    const { metaint } = this;
    const out = Buffer.allocUnsafeSlow(length);
    for (let at = 0; at < length; at += metaint) {
      const from = at + at / metaint;
      this.#open.copy(out, at, from, from + Math.min(metaint, length - at));
    }
    return out;
  }

  /** A buffer of its own, not from Node's pool: sockets may hold it long after the tape forgot it. Each block in it ends with a 0. */
  #blank(): Buffer {
    const { metaint, segmentBytes } = this;
    const spare = this.#spares.pop();
    if (spare !== undefined) return spare;
    const bytes = Buffer.allocUnsafeSlow(segmentBytes + segmentBytes / metaint);
    for (let at = metaint; at < bytes.length; at += metaint + 1) bytes[at] = 0;
    return bytes;
  }
}
