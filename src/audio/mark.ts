/**
 * A title on the tape. It lies at the byte where it took effect and travels with the audio; two marks are the same title
 * only when they are the same object, so comparing costs nothing.
 */

import { icyBlock } from '../metadata/title.js';
import type { RecordView } from '../metadata/view.js';

export class Mark {
  readonly view: RecordView;
  readonly block: Buffer;

  /** @param block what of it stands in the stream; the channel's options decide (icy.ts) */
  constructor(view: RecordView, block: Buffer = icyBlock(view.title)) {
    this.view = view;
    this.block = block;
  }
}
