/**
 * What a listener reads: a ring of segments, of frames (tape.ts) or of Ogg (ogg-tape.ts). Segments tail ≤ seq < head are there; times are
 * milliseconds of audio since the tape began.
 */

import type { Mark } from './mark.js';
import type { AudioSegment } from './segment.js';

/** What a listener must have for itself (ogg-rendering.ts). */
export interface Rendering {
  /** From now on it is sent what all are. */
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
  /** The channel has another tape now: nothing is there any more, and nothing comes. */
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
  /** The number of the newest segment up to this one that has an entry; less than `tail`: none has. */
  lastEntry(seq: number): number;
  /** The first segment of a listener that shall get `burstMs` of audio at once (burst.ts). */
  joinAt(burstMs: number): number;
  /** Of a new listener; null: it is sent what all are, whose blocks stand where the segments have them. */
  rendering(icy: boolean): Rendering | null;
  /**
   * The title takes effect at this audio time, of which listeners may have been sent more: then the next block that is closed carries it. Where
   * the place is known ahead, it is the block next to it, before or behind.
   * @param atMs no less than that of the mark before @param aheadBytes of audio that will be written before the place; 0: `atMs` ≤ `endMs`
   */
  put(mark: Mark, atMs: number, aheadBytes?: number): void;
  fence(): void;
  end(): void;
}
