/**
 * The base of all tapes (tape.ts, ogg-tape.ts, link/tapes/replica-tape.ts): a ring of closed segments, by number.
 *
 *        tail                              head
 *    ┌────┬────┬────┬────┬────┬────┬────┐
 *    │ 41 │ 42 │ 43 │ 44 │ 45 │ 46 │ 47 │      48 is closed next
 *    └────┴────┴────┴────┴────┴────┴────┘
 *
 * Invariant: segments tail ≤ seq < head can be read. The newest always stays; those that ended more than `lagMs` before the edge are forgotten,
 * however slow listeners are, and more while the tape has no readers (`keep`).
 */

import type { AudioTape, Rendering } from './audio-tape.js';
import { joinAt, MAX_MORE_MS, neededFrom } from './burst.js';
import type { PlacedMark } from './mark.js';
import { type AudioSegment, NOTHING } from './segment.js';

const FIRST_SLOTS = 64;

export interface BaseTapeOptions extends TapeBeginning {
  readonly metaint: number;
  readonly segmentBytes: number;
  readonly lagMs: number;
  /** Maximum number of segments; default: only the lag limits it. */
  readonly most?: number;
}

export interface TapeBeginning {
  /** The number of the first segment. */
  readonly first?: number;
  /** Its audio time. */
  readonly startMs?: number;
}

export abstract class BaseTape<S extends AudioSegment> implements AudioTape {
  readonly metaint: number;
  readonly segmentBytes: number;
  readonly lagMs: number;
  tail: number;
  head: number;
  isOver = false;
  edgeMs: number;
  endMs: number;
  readonly #most: number;
  /** Segments with which another format begins, oldest first. */
  readonly #fences: number[] = [];
  #slots: (S | undefined)[] = new Array(FIRST_SLOTS).fill(undefined);
  /** Null: the tape is read. */
  #burstMs: number | null = null;

  constructor({ metaint, segmentBytes, lagMs, most = Infinity, first = 0, startMs = 0 }: BaseTapeOptions) {
    this.metaint = metaint;
    this.segmentBytes = segmentBytes;
    this.lagMs = lagMs;
    this.#most = most;
    this.tail = first;
    this.head = first;
    this.edgeMs = startMs;
    this.endMs = startMs;
  }

  abstract readonly openRestBytes: number;
  abstract lastEntry(seq: number): number;
  abstract rendering(icy: boolean): Rendering | null;

  /** No segment's memory is reused, unless a tape overrides this. */
  held(): void {}

  joinAt(burstMs: number, moreMs?: number): number {
    return joinAt(this, burstMs, moreMs);
  }

  get joinFrom(): number {
    return this.#fences.at(-1) ?? 0;
  }

  fenceAfter(seq: number): number {
    for (const fence of this.#fences) if (fence > seq) return fence;
    return Number.POSITIVE_INFINITY;
  }

  /** The format changes before the segment with this number. Ignored if the last fence is as late. */
  fenceAt(seq: number): void {
    const fences = this.#fences;
    if (seq <= this.joinFrom) return;
    while (fences.length > 0 && fences[0]! <= this.tail) fences.shift();
    fences.push(seq);
  }

  /** As in WritableTape. */
  keep(burstMs: number | null): void {
    this.#burstMs = burstMs;
    this.#trim();
  }

  /** The tape is over: `at` returns no segment any more; `rest` still serves listeners that are ended. */
  end(): void {
    this.isOver = true;
    this.tail = Number.POSITIVE_INFINITY;
  }

  at(seq: number): S | undefined {
    return seq >= this.tail && seq < this.head ? this.#slots[seq & (this.#slots.length - 1)] : undefined;
  }

  /** As in AudioTape, of closed segments; also after the tape's end. */
  rest(seq: number, icy: boolean): Buffer {
    const slots = this.#slots;
    const isThere = seq < this.head && seq >= this.head - slots.length;
    return (isThere ? slots[seq & (slots.length - 1)]?.rest(icy) : undefined) ?? NOTHING;
  }

  /** The last title whose place is in a closed segment. */
  protected get lastPlaced(): PlacedMark | undefined {
    for (let seq = this.head - 1; seq >= this.tail; seq--) {
      const last = this.at(seq)!.marks.at(-1);
      if (last !== undefined) return last;
    }
    return undefined;
  }

  protected add(segment: S): void {
    if (this.head - this.tail === this.#slots.length) this.#grow();
    this.#slots[this.head & (this.#slots.length - 1)] = segment;
    this.head++;
    this.edgeMs = segment.endMs;
    this.#forget();
    this.#trim();
  }

  /** Adopts the closed segments of another tape, at least one. */
  protected addAll(from: AudioTape): void {
    for (let seq = from.tail; seq < from.head; seq++) this.add(from.at(seq) as S);
    this.fenceAt(from.joinFrom);
    this.endMs = this.edgeMs;
  }

  /** Called when a segment has left the tape. */
  protected onForgotten(_segment: S, _seq: number): void {}

  /** The number of the first segment that ends after this audio time; `head`: none. */
  protected firstAfter(ms: number): number {
    let seq = this.head;
    while (seq > this.tail && this.at(seq - 1)!.endMs > ms) seq--;
    return seq;
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

  /** Without readers, segments before the one where the next listener would begin are useless. */
  #trim(): void {
    if (this.#burstMs === null) return;
    const seq = neededFrom(this, this.#burstMs, MAX_MORE_MS);
    const newest = this.head - 1;
    while (this.tail < seq && this.tail < newest) this.#forgetOldest();
  }

  #forgetOldest(): void {
    const slot = this.tail & (this.#slots.length - 1);
    const segment = this.#slots[slot]!;
    this.#slots[slot] = undefined;
    const seq = this.tail++;
    this.onForgotten(segment, seq);
  }

  #grow(): void {
    const old = this.#slots;
    const bigger: (S | undefined)[] = new Array(old.length * 2).fill(undefined);
    for (let seq = this.tail; seq < this.head; seq++) bigger[seq & (bigger.length - 1)] = old[seq & (old.length - 1)];
    this.#slots = bigger;
  }
}
