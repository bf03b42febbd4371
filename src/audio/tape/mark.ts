/**
 * A title on the tape, at the byte where it took effect; it travels with the audio. Two marks are the same title only if they are the same object,
 * so comparing costs nothing.
 */

import type { Tags } from '../../metadata/icy.js';
import { icyBlock } from '../../metadata/title.js';
import type { RecordView } from '../../metadata/view.js';

let made = 0;

/** Orders marks that are made from now on behind this one. @param order of a mark of the previous process */
export function numberMarksFrom(order: number): void {
  made = Math.max(made, order);
}

export class Mark {
  /** Marks of one tape are in the order in which they were made. */
  readonly order: number;
  readonly view: RecordView;
  readonly block: Buffer;
  readonly tags: Tags;

  /**
   * @param block, tags its form in an ICY stream, and in Ogg; the channel's options decide (metadata/icy.ts)
   * @param order of a mark from another process
   */
  constructor(view: RecordView, block: Buffer = icyBlock(view.title), tags: Tags = tagsOf(view), order = ++made) {
    this.view = view;
    this.block = block;
    this.tags = tags;
    this.order = order;
  }
}

export interface PlacedMark {
  readonly mark: Mark;
  /** Audio time on the tape at which it takes effect, milliseconds. */
  readonly atMs: number;
  /** Audio bytes of the segment before its place; 0 also if the place is before the segment: the title came late. */
  readonly atByte: number;
  /** The block at or after this byte of the segment's audio carries it; 0: a block before the segment has carried it. */
  readonly blockByte: number;
}

/** Marks of a segment in which no title takes effect. */
export const NO_MARKS: readonly PlacedMark[] = [];

function tagsOf({ record }: RecordView): Tags {
  return { artist: record.artist, title: record.song, album: record.album };
}
