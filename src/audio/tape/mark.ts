/**
 * A title on the tape. It lies at the byte where it took effect and travels with the audio; two marks are the same title
 * only when they are the same object, so comparing costs nothing.
 */

import type { Tags } from '../../metadata/icy.js';
import { icyBlock } from '../../metadata/title.js';
import type { RecordView } from '../../metadata/view.js';

let made = 0;

/** Marks that are made from here on come behind this one. @param order of a mark of the process before this one */
export function numberMarksFrom(order: number): void {
  made = Math.max(made, order);
}

export class Mark {
  /** Marks of one tape lie in the order in which they were made. */
  readonly order: number;
  readonly view: RecordView;
  readonly block: Buffer;
  readonly tags: Tags;

  /**
   * @param block, tags what of it stands in the stream, or in an Ogg one; the channel's options decide (metadata/icy.ts)
   * @param order of a mark that was made in another process
   */
  constructor(view: RecordView, block: Buffer = icyBlock(view.title), tags: Tags = tagsOf(view), order = ++made) {
    this.view = view;
    this.block = block;
    this.tags = tags;
    this.order = order;
  }
}

/** A mark in a segment. */
export interface PlacedMark {
  readonly mark: Mark;
  /** Audio time on the tape at which it takes effect, milliseconds. */
  readonly atMs: number;
  /** Audio bytes of the segment before its place; 0 also where that lies before the segment: the title came late. */
  readonly atByte: number;
  /** The block at or after this byte of the segment's audio carries it; 0: one before the segment has carried it. */
  readonly blockByte: number;
}

/** Of a segment in which no title takes effect. */
export const NO_MARKS: readonly PlacedMark[] = [];

function tagsOf({ record }: RecordView): Tags {
  return { artist: record.artist, title: record.song, album: record.album };
}
