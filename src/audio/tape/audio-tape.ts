/**
 * What a listener reads: a ring of segments, of frames (tape.ts) or of Ogg (ogg-tape.ts). Segments tail ≤ seq < head are there; times are
 * milliseconds of audio since the tape began.
 */

import type { Mark } from './mark.js';
import type { AudioSegment } from './segment.js';

/** What a listener must have for itself (ogg-rendering.ts). */
export interface Rendering {
  /** From now on it is sent the shared bytes. */
  readonly isShared: boolean;
  /** Its bytes of a segment, each in turn, in pieces. @param shared what all are sent; of a first one, what all who begin there are */
  next(shared: Buffer, segment: AudioSegment): readonly Buffer[];
}

export interface AudioTape {
  readonly metaint: number;
  /** Audio bytes in a segment; of Ogg about as many. */
  readonly segmentBytes: number;
  readonly lagMs: number;
  readonly tail: number;
  readonly head: number;
  /** Of a tape that comes over a link: segments before this number are on their way. Undefined: none are. */
  readonly comesTo?: number;
  /** The channel has another tape now: this one has no segments any more and gets none. */
  readonly isOver: boolean;
  /** Of the end of the last closed segment, and of all that has come in. */
  readonly edgeMs: number;
  readonly endMs: number;
  at(seq: number): AudioSegment | undefined;
  /**
   * What is left, behind segment seq - 1, of a frame that its end cuts: with it a stream ends as it began, with a whole frame.
   * @param icy with the blocks that stand in it, which say nothing new
   */
  rest(seq: number, icy: boolean): Buffer;
  /** How much of the open segment, without blocks, `rest(head)` has. */
  readonly openRestBytes: number;
  /** The number of the newest segment up to this one that has an entry; less than `tail`: none has. */
  lastEntry(seq: number): number;
  /** The first segment of a listener that shall get `burstMs` of audio at once, and `moreMs`, if that is there beside it (burst.ts). */
  joinAt(burstMs: number, moreMs?: number): number;
  /** No listener begins before this segment: with it, or in the one before it, begins the format that the tape has now. */
  readonly joinFrom: number;
  /** The first segment after this one before which the format changes; +∞: there is none. */
  fenceAfter(seq: number): number;
  /**
   * To be called by a reader that goes on using bytes of the tape when it returns, such as one whose socket has not taken all at once: nothing that
   * is there now is written over.
   */
  held(): void;
  /** A rendering for a new listener; null: it is sent the shared bytes, with blocks where the segments have them. */
  rendering(icy: boolean): Rendering | null;
}

/** As its channel's audio writes it. */
export interface WritableTape extends AudioTape {
  /**
   * The title takes effect at this audio time, of which listeners may have been sent more: then the next block that is closed carries it. Where
   * the place is known ahead, it is the block next to it, before or behind.
   * @param atMs no less than that of the mark before @param aheadBytes of audio that will be written before the place; 0: `atMs` ≤ `endMs`
   */
  put(mark: Mark, atMs: number, aheadBytes?: number): void;
  /** What lies on the tape so far is of another format than what is written from here on. */
  fence(): void;
  /**
   * How much is kept: while the tape is read, as it is at first, all of its lag; else what a listener begins with that gets `burstMs` at once.
   * A listener that comes later is sent what it would have been in any case.
   * @param burstMs null: the tape is read
   */
  keep(burstMs: number | null): void;
  /** The audio goes on in a format that this tape's listeners were not promised. */
  end(): void;
}
