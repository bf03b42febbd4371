/**
 * A segment: exactly `metaint` audio bytes of the tape and what is said at its end. Never changes after it was closed, and is
 * rendered once for everybody:
 *
 *   bytes     │ audio ………… metaint │ 0 │        title unchanged: one buffer, made by the tape
 *   plain     │ audio ………… metaint │            a view of it, for players without ICY
 *   titled    │ audio ………… metaint │ L │ text…│ title changed; made on first use
 *   entered   │ start │ audio … metaint │ L │ …│   a listener's first (entry.ts); made on first use
 */

import { enter, isEntryPlain } from './entry.js';
import type { Mark } from './mark.js';

/** What a listener is sent of any tape. */
export interface AudioSegment {
  readonly startMs: number;
  readonly endMs: number;
  readonly entry: number;
  readonly entryMs: number;
  readonly before: Mark | null;
  readonly mark: Mark | null;
  /** At its end, the head of the next link (Ogg), where `mark` is in force already; else 0. */
  readonly linkBytes: number;
  /** With a block that says nothing new, without one, with a title. */
  readonly bytes: Buffer;
  readonly plain: Buffer;
  readonly titled: Buffer;
  entered(icy: boolean): Buffer;
}

export interface SegmentFacts {
  /** metaint + 1 bytes, the last one 0 (a length of 0 says "no change": src/listener/README.md). */
  readonly bytes: Buffer;
  /** Audio time on the tape, milliseconds, at the first byte and after the last. */
  readonly startMs: number;
  readonly endMs: number;
  /** Offset of the first frame with which a listener can begin (entry.ts), and its audio time; -1: there is none. */
  readonly entry: number;
  readonly entryMs: number;
  /** The number of the newest segment up to this one that has an entry; -1: none has. */
  readonly lastEntry: number;
  /** The title in force at the first byte, and at the block after the last byte. */
  readonly before: Mark | null;
  readonly mark: Mark | null;
}

export class Segment implements SegmentFacts, AudioSegment {
  readonly bytes: Buffer;
  readonly startMs: number;
  readonly endMs: number;
  readonly entry: number;
  readonly entryMs: number;
  readonly lastEntry: number;
  readonly before: Mark | null;
  readonly mark: Mark | null;
  readonly linkBytes = 0;
  #plain: Buffer | undefined;
  #titled: Buffer | undefined;
  #entered: Buffer | undefined;

  constructor(facts: SegmentFacts) {
    this.bytes = facts.bytes;
    this.startMs = facts.startMs;
    this.endMs = facts.endMs;
    this.entry = facts.entry;
    this.entryMs = facts.entryMs;
    this.lastEntry = facts.lastEntry;
    this.before = facts.before;
    this.mark = facts.mark;
  }

  get plain(): Buffer {
    return (this.#plain ??= this.bytes.subarray(0, this.bytes.length - 1));
  }

  get titled(): Buffer {
    return (this.#titled ??= this.#renderTitled());
  }

  /** A listener's first segment, with its block or without; the latter may be shorter (entry.ts). Only where there is an entry. */
  entered(icy: boolean): Buffer {
    if (!icy && isEntryPlain(this.bytes, this.entry)) return this.plain.subarray(this.entry);
    this.#entered ??= this.#renderEntered();
    return icy ? this.#entered : this.#entered.subarray(0, this.bytes.length - 1);
  }

  #renderTitled(): Buffer {
    const mark = this.mark;
    if (mark === null) return this.bytes;
    const metaint = this.bytes.length - 1;
    const out = Buffer.allocUnsafeSlow(metaint + mark.block.length);
    this.bytes.copy(out, 0, 0, metaint);
    mark.block.copy(out, metaint);
    return out;
  }

  #renderEntered(): Buffer {
    const titled = this.titled;
    const out = Buffer.allocUnsafeSlow(titled.length);
    titled.copy(out);
    enter(out, this.entry, this.bytes.length - 1);
    return out;
  }
}
