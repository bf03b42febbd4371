/**
 * What listeners read: a ring of segments, of frames (tape.ts) or of Ogg (ogg-tape.ts). Segments tail ≤ seq < head can be read; times are
 * milliseconds of audio since the tape began.
 */

import type { Mark } from './mark.js';
import type { AudioSegment } from './segment.js';

/** Bytes for a single listener (ogg-rendering.ts). */
export interface Rendering {
  /** From now on it gets the shared bytes. */
  readonly isShared: boolean;
  /** Its bytes of each segment in turn, in pieces. @param shared what all are sent; of a first segment, what all that begin there are sent */
  next(shared: Buffer, segment: AudioSegment): readonly Buffer[];
}

export interface AudioTape {
  readonly metaint: number;
  /** Audio bytes in a segment; of Ogg, approximately. */
  readonly segmentBytes: number;
  readonly lagMs: number;
  readonly tail: number;
  readonly head: number;
  /** Of a tape that comes over a link: segments before this number are on their way. Undefined: none. */
  readonly comesTo?: number;
  /** The channel has another tape: this one has no segments any more, and gets none. */
  readonly isOver: boolean;
  /** Audio time at the end of the last closed segment. */
  readonly edgeMs: number;
  /** Audio time at the end of all audio so far. */
  readonly endMs: number;
  at(seq: number): AudioSegment | undefined;
  /**
   * The rest, behind segment seq - 1, of a frame that its end cuts, with which a stream ends with a whole frame.
   * @param icy with the empty blocks in it
   */
  rest(seq: number, icy: boolean): Buffer;
  /** Length of `rest(head)` without blocks. */
  readonly openRestBytes: number;
  /** The number of the newest segment up to this one that has an entry; less than `tail`: none. */
  lastEntry(seq: number): number;
  /** The first segment of a listener that gets `burstMs` of audio at once, and `moreMs` beside it, if available (burst.ts). */
  joinAt(burstMs: number, moreMs?: number): number;
  /** No listener begins before this segment: the tape's present format begins with it, or in the one before it. */
  readonly joinFrom: number;
  /** The first segment after this one before which the format changes; +∞: none. */
  fenceAfter(seq: number): number;
  /**
   * Called by a reader that keeps bytes of the tape beyond its call, such as one whose socket has not taken all at once: those present now are not
   * overwritten.
   */
  held(): void;
  /** A rendering for a new listener; null: it gets the shared bytes, with blocks where the segments have them. */
  rendering(icy: boolean): Rendering | null;
}

/** A tape as its channel's audio writes it. */
export interface WritableTape extends AudioTape {
  /**
   * The title takes effect at this audio time: with the next block that is closed if listeners may have passed it, with the nearest if it lies ahead.
   * @param atMs no less than that of the mark before @param aheadBytes of audio that will be written before the place; 0: `atMs` ≤ `endMs`
   */
  put(mark: Mark, atMs: number, aheadBytes?: number): void;
  /** The format changes: what is written from here on differs from what the tape has. */
  fence(): void;
  /**
   * How much is kept: while the tape is read, as it is at first, its whole lag; else what a listener with a burst of `burstMs` begins with, which
   * later listeners get in either case. @param burstMs null: the tape is read
   */
  keep(burstMs: number | null): void;
  /** Ends the tape: the audio continues in a format that its listeners were not promised. */
  end(): void;
}
