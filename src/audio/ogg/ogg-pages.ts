/**
 * Finds the pages in an Ogg stream of any chunking, and hands on those with the right CRC, one at a time: it looks for the next one when all packets
 * of the one before have been taken.
 *
 * Invariant: every byte of the input belongs to a page that the sink took, is counted in `skippedBytes`, or waits in the scratch, which holds one
 * page. The work is in proportion to the input, whatever it claims: see VAIN_SHARE. Owned by an OggFramer.
 */

import {
  isPage,
  MAX_PAGE_BYTES,
  type OggPage,
  PAGE_HEADER_BYTES,
  PAGE_START,
  pageBytes,
  readPage,
} from './ogg-page.js';

/**
 * CRCs that fail may cover VAIN_SHARE bytes for each byte of input, and VAIN_BYTES at once; beyond that a page is skipped as a whole, since a header
 * of 27 bytes can claim 64 KB, and the search for another page begins at its second byte.
 */
const VAIN_SHARE = 2;
const VAIN_BYTES = 8 * MAX_PAGE_BYTES;
export interface PageSink {
  /** A whole page, as views that are valid until it is done; false: it does not belong to the followed stream. */
  onPage(page: OggPage, bytes: number): boolean;
  /** Continues with that page; true: it is done, false: it was paused. */
  resume(): boolean;
}

/** Bytes that are unrecognized or of damaged pages; bytes over which a CRC was computed. */
export interface PageCounters {
  skippedBytes: number;
  checkedBytes: number;
}

/** The position of a reader of pages, as plain data. */
export interface OggPagesState {
  /** The beginning of an incomplete page. */
  readonly kept: Buffer;
  readonly neededBytes: number;
  readonly vainBytes: number;
  readonly isUnderWay: boolean;
}

export class OggPages {
  /** Nothing more is handed on until the next `push`. Set by the sink. */
  isPaused = false;
  readonly #sink: PageSink;
  readonly #counters: PageCounters;
  readonly #scratch = Buffer.alloc(MAX_PAGE_BYTES);
  /** The first byte of the scratch that was not examined yet. */
  #at = 0;
  /** The end of the scratch's content. */
  #end = 0;
  #neededBytes = PAGE_HEADER_BYTES;
  #vainBytes = VAIN_BYTES;
  /** The sink has a page that is not done. */
  #isUnderWay = false;

  constructor(sink: PageSink, counters: PageCounters) {
    this.#sink = sink;
    this.#counters = counters;
  }

  /** Forgets incomplete input, as at the start of a file. */
  reset(): void {
    this.#counters.skippedBytes += this.#end - this.#at;
    this.#at = this.#end = 0;
    this.#isUnderWay = false;
    this.#neededBytes = PAGE_HEADER_BYTES;
  }

  get state(): OggPagesState {
    const kept = Buffer.from(this.#scratch.subarray(this.#at, this.#end));
    return { kept, neededBytes: this.#neededBytes, vainBytes: this.#vainBytes, isUnderWay: this.#isUnderWay };
  }

  /** Resumes where another one stopped. Before the first `push`. */
  adopt({ kept, neededBytes, vainBytes, isUnderWay }: OggPagesState): void {
    this.#end = kept.copy(this.#scratch);
    this.#neededBytes = neededBytes;
    this.#vainBytes = vainBytes;
    this.#isUnderWay = isUnderWay;
  }

  /**
   * The next bytes of the stream, in any chunking. Complete pages are handed on before this returns.
   * Returns how many were taken: all, unless the sink has paused it; it resumes with the rest, or with an empty chunk.
   */
  push(chunk: Buffer): number {
    this.isPaused = false;
    let at = 0;
    for (;;) {
      this.#walk();
      if (this.isPaused || at === chunk.length) return at;
      if (this.#at > 0) this.#compact();
      const copied = chunk.copy(this.#scratch, this.#end, at, at + this.#neededBytes - this.#end);
      this.#end += copied;
      this.#vainBytes = Math.min(VAIN_BYTES, this.#vainBytes + VAIN_SHARE * copied);
      at += copied;
    }
  }

  #compact(): void {
    this.#scratch.copyWithin(0, this.#at, this.#end);
    this.#end -= this.#at;
    this.#at = 0;
  }

  #walk(): void {
    while (!this.isPaused) {
      if (this.#isUnderWay) this.#isUnderWay = !this.#sink.resume();
      else if (this.#end - this.#at < this.#neededBytes) return;
      else this.#step();
    }
  }

  /** Takes a page, or requests more bytes, or skips some that are not a page. */
  #step(): void {
    const scratch = this.#scratch;
    const at = this.#at;
    const there = this.#end - at;
    if (!isPage(scratch, at)) {
      this.#pass();
      return;
    }
    const bytes = pageBytes(scratch, at, there);
    this.#neededBytes = bytes;
    if (there < bytes) return;
    this.#counters.checkedBytes += bytes;
    const page = readPage(scratch.subarray(at, at + bytes));
    if (page !== null) {
      this.#isUnderWay = this.#sink.onPage(page, bytes);
      if (!this.#isUnderWay) this.#counters.skippedBytes += bytes;
      this.#drop(bytes);
      return;
    }
    this.#vainBytes -= bytes;
    if (this.#vainBytes >= 0) this.#pass();
    else {
      this.#counters.skippedBytes += bytes;
      this.#drop(bytes);
    }
  }

  /** Skips to the next byte that may begin a page. */
  #pass(): void {
    const rest = this.#scratch.subarray(this.#at, this.#end);
    let next = rest.indexOf(PAGE_START, 1);
    if (next < 0) next = rest.indexOf(PAGE_START[0]!, Math.max(1, rest.length - PAGE_START.length + 1));
    const passed = next < 0 ? rest.length : next;
    this.#counters.skippedBytes += passed;
    this.#drop(passed);
  }

  /** Moves past bytes, which stay where they are until more are needed: by then the page's packets have been handed on. */
  #drop(bytes: number): void {
    this.#at += bytes;
    this.#neededBytes = PAGE_HEADER_BYTES;
  }
}
