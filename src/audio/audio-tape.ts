/**
 * What a listener reads: a ring of segments, of frames (tape.ts) or of Ogg (ogg-tape.ts). Segments tail ≤ seq < head are there; times are
 * milliseconds of audio since the tape began.
 */

import type { Mark } from './mark.js';
import type { Phase } from './phase.js';
import type { AudioSegment } from './segment.js';

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
  /** What each listener that gets ICY must have for itself; null: nothing, its blocks stand at the segments' ends. */
  phase(): Phase | null;
  /**
   * The title takes effect at this audio time, of which listeners may have been sent more: then the next block that is closed carries it. Where
   * the place is known ahead, it is the block next to it, before or behind.
   * @param atMs no less than that of the mark before @param aheadBytes of audio that will be written before the place; 0: `atMs` ≤ `endMs`
   */
  put(mark: Mark, atMs: number, aheadBytes?: number): void;
  fence(): void;
  end(): void;
}
