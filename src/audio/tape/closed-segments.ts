/**
 * The ring of a tape's closed segments, by number: what a tape and its replica in another process have in common (tape.ts,
 * ogg-tape.ts).
 *
 *        tail                              head
 *    ┌────┬────┬────┬────┬────┬────┬────┐
 *    │ 41 │ 42 │ 43 │ 44 │ 45 │ 46 │ 47 │      48 is closed next
 *    └────┴────┴────┴────┴────┴────┴────┘
 *
 * Invariant: segments tail ≤ seq < head can be read; the newest always stays, what ended more than `lagMs` before the edge is forgotten,
 * whatever the crowd does, and more where its tape asks for that. Owned by one tape.
 */

import type { PlacedMark } from './mark.js';
import { type AudioSegment, NOTHING } from './segment.js';

const FIRST_SLOTS = 64;

export interface ClosedSegmentsOptions {
  readonly lagMs: number;
  /** How many are kept at most; default: as many as the lag has. */
  readonly most?: number;
  /** The number of the first one, and its audio time. */
  readonly first?: number;
  readonly startMs?: number;
}

export interface ForgottenHandler<S> {
  /** It is off the tape. */
  onForgotten(segment: S, seq: number): void;
}

export class ClosedSegments<S extends AudioSegment> {
  /** How much audio is kept, milliseconds. */
  readonly lagMs: number;
  /** Number of the oldest segment that can be read, and of the one that will be closed next. */
  tail: number;
  head: number;
  /** Audio time at the end of the last one, milliseconds since the tape began. */
  edgeMs: number;
  isOver = false;
  readonly #most: number;
  readonly #handler: ForgottenHandler<S> | null;
  /** Segments with which another format begins, oldest first. */
  readonly #fences: number[] = [];
  #slots: (S | undefined)[] = new Array(FIRST_SLOTS).fill(undefined);

  constructor(
    { lagMs, most = Number.POSITIVE_INFINITY, first = 0, startMs = 0 }: ClosedSegmentsOptions,
    handler: ForgottenHandler<S> | null = null,
  ) {
    this.#handler = handler;
    this.lagMs = lagMs;
    this.#most = most;
    this.tail = first;
    this.head = first;
    this.edgeMs = startMs;
  }

  /** No listener begins before this segment. */
  get joinFrom(): number {
    return this.#fences.at(-1) ?? 0;
  }

  /** Before the segment with this number the format has changed. Nothing where the last one is as late. */
  fence(seq: number): void {
    const fences = this.#fences;
    if (seq <= this.joinFrom) return;
    while (fences.length > 0 && fences[0]! <= this.tail) fences.shift();
    fences.push(seq);
  }

  /** The first fence behind this segment; +∞: none. */
  fenceAfter(seq: number): number {
    for (const fence of this.#fences) if (fence > seq) return fence;
    return Number.POSITIVE_INFINITY;
  }

  /** The segment with this number; undefined when it is not (or no longer) on the tape. */
  at(seq: number): S | undefined {
    return seq >= this.tail && seq < this.head ? this.#slots[seq & (this.#slots.length - 1)] : undefined;
  }

  /** What is left in it of a frame that the end of the one before it cuts. Also after the tape's end. */
  rest(seq: number, icy: boolean): Buffer {
    const slots = this.#slots;
    const isThere = seq < this.head && seq >= this.head - slots.length;
    return (isThere ? slots[seq & (slots.length - 1)]?.rest(icy) : undefined) ?? NOTHING;
  }

  /** The last title that has its place in one of them. */
  get lastPlaced(): PlacedMark | undefined {
    for (let seq = this.head - 1; seq >= this.tail; seq--) {
      const last = this.at(seq)!.marks.at(-1);
      if (last !== undefined) return last;
    }
    return undefined;
  }

  append(segment: S): void {
    if (this.head - this.tail === this.#slots.length) this.#grow();
    this.#slots[this.head & (this.#slots.length - 1)] = segment;
    this.head++;
    this.edgeMs = segment.endMs;
    this.#forget();
  }

  /** Those before this one are nothing that anybody will read. The newest stays. */
  forgetBefore(seq: number): void {
    const newest = this.head - 1;
    while (this.tail < seq && this.tail < newest) this.#forgetOldest();
  }

  /** The number of the first one that ends after this audio time; `head`: none does. */
  firstAfter(ms: number): number {
    let seq = this.head;
    while (seq > this.tail && this.at(seq - 1)!.endMs > ms) seq--;
    return seq;
  }

  /** Nothing is there any more, and nothing comes: `at` has none, `rest` still answers those who are sent away. */
  end(): void {
    this.isOver = true;
    this.tail = Number.POSITIVE_INFINITY;
  }

  #forget(): void {
    const mask = this.#slots.length - 1;
    while (
      this.tail < this.head - 1 &&
      (this.edgeMs - this.#slots[this.tail & mask]!.endMs > this.lagMs || this.head - this.tail > this.#most)
    ) {
      this.#forgetOldest();
    }
  }

  #forgetOldest(): void {
    const place = this.tail & (this.#slots.length - 1);
    const segment = this.#slots[place]!;
    this.#slots[place] = undefined;
    const seq = this.tail++;
    this.#handler?.onForgotten(segment, seq);
  }

  #grow(): void {
    const old = this.#slots;
    const bigger: (S | undefined)[] = new Array(old.length * 2).fill(undefined);
    for (let seq = this.tail; seq < this.head; seq++) bigger[seq & (bigger.length - 1)] = old[seq & (old.length - 1)];
    this.#slots = bigger;
  }
}
