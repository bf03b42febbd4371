/**
 * A segment: about a second of the tape's audio, with an ICY block after every `metaint` bytes of it. Its audio never changes after it was closed,
 * its titles only where one comes late. It is rendered once for all listeners:
 *
 *   bytes     │ audio … metaint │0│ audio … metaint │0│ …       no title takes effect in it: one buffer, made by the tape
 *   titled    │ audio … metaint │0│ audio … metaint │L│text│ …  one does; made on first use; another for who had a late one before
 *   plain     │ audio ………………………………………………………………… │           for players without ICY; made on first use
 *   entered   │ start │ audio … │L│text│ audio … metaint │0│ …  a listener's first (entry.ts); made on first use
 */

import { enter, enterBehind, isEntryPlain } from './entry.js';
import type { Mark, PlacedMark } from './mark.js';

/** A first segment, and the audio time of its first frame. */
export interface FirstSegment {
  readonly bytes: Buffer;
  readonly entryMs: number;
}

/** What a listener is sent of any tape. */
export interface AudioSegment {
  readonly startMs: number;
  readonly endMs: number;
  readonly entry: number;
  readonly entryMs: number;
  readonly before: Mark | null;
  /** In force at its end. */
  readonly mark: Mark | null;
  /** Those that take effect in it, in order. */
  readonly marks: readonly PlacedMark[];
  /** At its end, the head of the next link (Ogg), where `mark` is in force already; else 0. */
  readonly linkBytes: number;
  /** With blocks that say nothing new, without any, with the titles that take effect in it. */
  readonly bytes: Buffer;
  readonly plain: Buffer;
  /** As `plain`, but not kept: valid until that of another segment is asked for. For who reads it once. */
  readonly passing: Buffer;
  readonly titled: Buffer;
  /** The same for a listener. @param had the late title that it was sent in the segment before: it is not said again */
  titledFor(had: Mark | null): Buffer;
  entered(icy: boolean): Buffer;
  /**
   * What a listener with ICY goes on with that comes from another tape, and the audio time of its first frame of this one. Null: there is no room,
   * and the frame in which its stream stands stays cut.
   * @param rest of that frame
   */
  enteredBehind(rest: Buffer): FirstSegment | null;
  /** The late title that was put into it after it was closed; null: none. */
  readonly late: Mark | null;
  /** What stands in it before its entry: of a frame that began in the segment before. @param icy with the blocks that stand in it */
  rest(icy: boolean): Buffer;
}

export const NOTHING = Buffer.alloc(0);
/** What `passing` is written to, for all tapes of the process. */
let scratch = NOTHING;

/** Bytes of so much of a segment's audio with the blocks before its end, which say nothing new. */
export function withBlocksBytes(audioBytes: number, metaint: number): number {
  return audioBytes + Math.max(0, Math.ceil(audioBytes / metaint) - 1);
}

/** The title in force at an audio time within the segment. */
export function inForceAt({ before, marks }: AudioSegment, ms: number): Mark | null {
  let mark = before;
  for (let i = 0; i < marks.length && marks[i]!.atMs <= ms; i++) mark = marks[i]!.mark;
  return mark;
}

export interface SegmentFacts {
  /** Blocks of metaint audio bytes, each with a 0 behind it (a length of 0 says "no change": src/listener/README.md). */
  readonly bytes: Buffer;
  readonly metaint: number;
  /** Audio time on the tape, milliseconds, at the first byte and after the last. */
  readonly startMs: number;
  readonly endMs: number;
  /** Audio bytes before the first frame with which a listener can begin (entry.ts), and its audio time; -1: there is none. */
  readonly entry: number;
  readonly entryMs: number;
  /** The number of the newest segment up to this one that has an entry; -1: none has. */
  readonly lastEntry: number;
  /** The title in force at the first byte. */
  readonly before: Mark | null;
  readonly marks: readonly PlacedMark[];
  /** Takes effect behind its end, but stands in its last block, which is nearer than the next one; null: none does. */
  readonly following: Mark | null;
  /** A late title of which the first block says that it is in force, since it came when the segment before was closed; null: none. */
  readonly repeats: Mark | null;
}

/** What of a closed segment a late title changes. */
export type SegmentTitles = Pick<SegmentFacts, 'marks' | 'repeats'> & Pick<AudioSegment, 'late'>;

export class Segment implements SegmentFacts, AudioSegment {
  readonly bytes: Buffer;
  readonly metaint: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly entry: number;
  readonly entryMs: number;
  readonly lastEntry: number;
  readonly before: Mark | null;
  mark: Mark | null;
  marks: readonly PlacedMark[];
  readonly following: Mark | null;
  repeats: Mark | null;
  late: Mark | null = null;
  readonly linkBytes = 0;
  #plain: Buffer | undefined;
  #titled: Buffer | undefined;
  #unrepeated: Buffer | undefined;
  #entered: Buffer | undefined;
  #enteredPlain: Buffer | undefined;
  /** What it was last behind such a rest: a crowd comes from one tape at one place. */
  #behind: (FirstSegment & { readonly rest: Buffer }) | undefined;

  constructor(facts: SegmentFacts) {
    this.bytes = facts.bytes;
    this.metaint = facts.metaint;
    this.startMs = facts.startMs;
    this.endMs = facts.endMs;
    this.entry = facts.entry;
    this.entryMs = facts.entryMs;
    this.lastEntry = facts.lastEntry;
    this.before = facts.before;
    this.marks = facts.marks;
    this.following = facts.following;
    this.repeats = facts.repeats;
    this.mark = facts.marks.at(-1)?.mark ?? facts.before;
  }

  /**
   * A title has come late, whose place is in this segment or before it. It is in the first block from there on, for those who were not sent the
   * segment yet: of a listener that joins it is the first, of one that is behind the next.
   * @param atMs audio time on the tape, no less than that of the titles before it
   */
  revise(mark: Mark, atMs: number): void {
    const { startMs, endMs, plain } = this;
    const atByte = Math.floor((plain.length * Math.max(0, atMs - startMs)) / (endMs - startMs));
    const blockByte = Math.max(1, atByte);
    this.retitle({
      marks: [...this.marks.filter((placed) => placed.blockByte < blockByte), { mark, atMs, atByte, blockByte }],
      late: mark,
      repeats: atMs < startMs ? mark : this.repeats,
    });
  }

  /** What a late title has made of its titles. */
  retitle({ marks, late, repeats }: SegmentTitles): void {
    this.marks = marks;
    this.mark = marks.at(-1)?.mark ?? this.before;
    this.late = late;
    this.repeats = repeats;
    this.#titled = undefined;
    this.#unrepeated = undefined;
    this.#entered = undefined;
    this.#behind = undefined;
  }

  get plain(): Buffer {
    return (this.#plain ??= this.#withoutBlocks());
  }

  get passing(): Buffer {
    const lengthBytes = this.#audioBytes;
    if (this.#plain === undefined && scratch.length < lengthBytes) scratch = Buffer.allocUnsafeSlow(2 * lengthBytes);
    return this.#plain ?? this.#writePlain(scratch.subarray(0, lengthBytes));
  }

  get titled(): Buffer {
    const isTitled = this.marks.length > 0 || this.following !== null;
    return (this.#titled ??= isTitled ? this.#withBlocks(this.plain, this.#said) : this.bytes);
  }

  titledFor(had: Mark | null): Buffer {
    if (had === null || had !== this.repeats) return this.titled;
    return (this.#unrepeated ??= this.#withBlocks(this.plain, had.block));
  }

  rest(icy: boolean): Buffer {
    const { entry } = this;
    if (entry <= 0) return NOTHING;
    return icy ? this.bytes.subarray(0, withBlocksBytes(entry, this.metaint)) : this.plain.subarray(0, entry);
  }

  /** A listener's first segment, with its blocks or without; the latter may be shorter (entry.ts). Only where there is an entry. */
  entered(icy: boolean): Buffer {
    if (icy) return (this.#entered ??= this.#withBlocks(this.#enterPlain(), undefined));
    return isEntryPlain(this.plain, this.entry) ? this.plain.subarray(this.entry) : this.#enterPlain();
  }

  enteredBehind(rest: Buffer): FirstSegment | null {
    if (this.#behind?.rest.equals(rest)) return this.#behind;
    const { plain, entry, startMs, endMs } = this;
    const audio = Buffer.allocUnsafeSlow(plain.length);
    plain.copy(audio);
    const at = enterBehind(audio, entry, rest);
    if (at < 0) return null;
    const laterMs = ((endMs - startMs) * (at - entry)) / plain.length;
    this.#behind = { rest, bytes: this.#withBlocks(audio, undefined), entryMs: this.entryMs + laterMs };
    return this.#behind;
  }

  /** What the last block before it says. */
  get #said(): Buffer | undefined {
    return (this.marks.findLast(({ blockByte }) => blockByte === 0)?.mark ?? this.before)?.block;
  }

  #enterPlain(): Buffer {
    if (this.#enteredPlain === undefined) {
      // Not of Node's pool: sockets may hold it.
      const audio = Buffer.allocUnsafeSlow(this.plain.length);
      this.plain.copy(audio);
      enter(audio, this.entry);
      this.#enteredPlain = audio;
    }
    return this.#enteredPlain;
  }

  get #audioBytes(): number {
    return (this.bytes.length / (this.metaint + 1)) * this.metaint;
  }

  #withoutBlocks(): Buffer {
    const lengthBytes = this.#audioBytes;
    if (lengthBytes === this.metaint) return this.bytes.subarray(0, lengthBytes);
    return this.#writePlain(Buffer.allocUnsafeSlow(lengthBytes));
  }

  /** @param out as long as the audio */
  #writePlain(out: Buffer): Buffer {
    const { bytes, metaint } = this;
    for (let to = 0, from = 0; to < out.length; to += metaint, from += metaint + 1)
      bytes.copy(out, to, from, from + metaint);
    return out;
  }

  /** @param audio the segment's; @param said the block that its listeners had last */
  #withBlocks(audio: Buffer, said: Buffer | undefined): Buffer {
    const { marks, metaint, before, following } = this;
    const fixedBytes = (before?.block.length ?? 0) + (following?.block.length ?? 0);
    const textBytes = marks.reduce((sum, { mark }) => sum + mark.block.length, fixedBytes);
    const out = Buffer.allocUnsafeSlow(this.bytes.length + textBytes);
    let block = before?.block;
    let [from, fill, next] = [0, 0, 0];
    while (from < audio.length) {
      const to = from + metaint;
      fill += audio.copy(out, fill, from, to);
      while (next < marks.length && marks[next]!.blockByte <= to) block = marks[next++]!.mark.block;
      if (following !== null && to === audio.length) block = following.block;
      if (block === undefined || block === said) out[fill++] = 0;
      else fill += block.copy(out, fill);
      said = block;
      from = to;
    }
    return out.subarray(0, fill);
  }
}
