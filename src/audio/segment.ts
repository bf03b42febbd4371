/**
 * A segment: exactly `metaint` audio bytes of the tape and what is said at its end. Never changes after it was closed, and is
 * rendered once for everybody:
 *
 *   bytes     │ audio … metaint │ 0 │        title unchanged: one buffer, made by the tape
 *   plain     │ audio … metaint │            a view of it, for players without ICY
 *   titled    │ audio … metaint │ L │ text…│ title changed or just joined; made on first use
 */

import type { Mark } from './mark.js';

export class Segment {
  /** metaint + 1 bytes, the last one 0 (protocol.md, "ICY metadata": L = 0 says "no change"). */
  readonly bytes: Buffer;
  /** Audio time on the tape, milliseconds, at the first byte and after the last. */
  readonly startMs: number;
  readonly endMs: number;
  /** The title in force at the first byte, and at the block after the last byte. */
  readonly before: Mark | null;
  readonly mark: Mark | null;
  #plain: Buffer | undefined;
  #titled: Buffer | undefined;

  constructor(bytes: Buffer, startMs: number, endMs: number, before: Mark | null, mark: Mark | null) {
    this.bytes = bytes;
    this.startMs = startMs;
    this.endMs = endMs;
    this.before = before;
    this.mark = mark;
  }

  get plain(): Buffer {
    return (this.#plain ??= this.bytes.subarray(0, this.bytes.length - 1));
  }

  get titled(): Buffer {
    return (this.#titled ??= this.#renderTitled());
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
}
