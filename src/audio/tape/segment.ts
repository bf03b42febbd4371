/**
 * A segment: about a second of the tape's audio, with an ICY block after every `metaint` bytes of it. Once it is closed its audio never changes, and
 * its titles only if one comes late. It is rendered once for all listeners:
 *
 *   bytes     │ audio … metaint │0│ audio … metaint │0│ …       no title takes effect in it: one buffer, made by the tape
 *   titled    │ audio … metaint │0│ audio … metaint │L│text│ …  one does; made on first use; another for listeners that had a late one
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

/** A segment of any tape, as listeners are sent it. */
export interface AudioSegment {
  /** Audio time on the tape, milliseconds, at the first byte and after the last. */
  readonly startMs: number;
  readonly endMs: number;
  /** Audio bytes before the first frame with which a listener can begin (entry.ts); -1: there is none. */
  readonly entry: number;
  /** The audio time of that frame. */
  readonly entryMs: number;
  /** The title in force at the first byte. */
  readonly before: Mark | null;
  /** In force at its end. */
  readonly mark: Mark | null;
  /** Marks that take effect in it, in order. */
  readonly marks: readonly PlacedMark[];
  /** Bytes of the next link's head at its end (Ogg), where `mark` is in force already; else 0. */
  readonly linkBytes: number;
  /** With empty blocks: after metaint audio bytes a 0, a length of 0, which means "no change" (src/listener/README.md). */
  readonly bytes: Buffer;
  /** Without blocks. */
  readonly plain: Buffer;
  /** As `plain`, but valid only until that of another segment is read. For readers that need it once. */
  readonly passing: Buffer;
  /** With the titles that take effect in it. */
  readonly titled: Buffer;
  /** The same for a listener. @param had the late title that it was sent in the segment before, and is not sent again */
  titledFor(had: Mark | null): Buffer;
  entered(icy: boolean): Buffer;
  /**
   * For a listener with ICY from another tape: its next bytes, and the audio time of its first frame of this one. Null: there is no room, and the
   * frame at which its stream stopped stays cut. @param rest of that frame
   */
  enteredBehind(rest: Buffer): FirstSegment | null;
  /** The late title that was put into it after it was closed; null: none. */
  readonly late: Mark | null;
  /** The part before its entry: the rest of a frame that began in the segment before. @param icy with the empty blocks in it */
  rest(icy: boolean): Buffer;
}

export const NOTHING = Buffer.alloc(0);
/** The buffer of `passing`, for all tapes of the process. */
let scratch = NOTHING;

/** Length of this much of a segment's audio with the empty blocks before its end. */
export function withBlocksBytes(audioBytes: number, metaint: number): number {
  return audioBytes + Math.max(0, Math.ceil(audioBytes / metaint) - 1);
}

/** The title in force at an audio time within the segment. */
export function inForceAt({ before, marks }: AudioSegment, ms: number): Mark | null {
  let mark = before;
  for (let i = 0; i < marks.length && marks[i]!.atMs <= ms; i++) mark = marks[i]!.mark;
  return mark;
}

type CommonFacts = Pick<AudioSegment, 'bytes' | 'startMs' | 'endMs' | 'entry' | 'entryMs' | 'before' | 'marks'>;

export interface SegmentFacts extends CommonFacts {
  readonly metaint: number;
  /** The number of the newest segment up to this one that has an entry; -1: none. */
  readonly lastEntry: number;
  /** The mark that takes effect behind its end, but is in its last block, which is nearer than the next; null: none. */
  readonly following: Mark | null;
  /** A late title that the first block repeats, since it came after the segment before was closed; null: none. */
  readonly repeats: Mark | null;
}

/** The members of a closed segment that a late title changes. */
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
  /** The latest `enteredBehind`, with its rest: a crowd comes from one place of one tape. */
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
   * A title has come late, with its place in this segment or before it. Listeners without the segment get it in the first block from there on that
   * they are sent. @param atMs audio time on the tape, no less than that of the titles before it
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

  /** Sets the titles that a late title has changed. */
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

  /** A listener's first segment, with blocks or without; the latter may be shorter (entry.ts). Only if there is an entry. */
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

  /** The title of the last block before it. */
  get #said(): Buffer | undefined {
    return (this.marks.findLast(({ blockByte }) => blockByte === 0)?.mark ?? this.before)?.block;
  }

  #enterPlain(): Buffer {
    if (this.#enteredPlain === undefined) {
      // Not from Node's pool: sockets may hold it.
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

  /** @param audio the segment's audio; @param said the title that its listeners have, as a block */
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
