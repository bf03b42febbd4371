/**
 * What one listener of an Ogg tape is sent. Its first link begins where it joined, so that its player's clock begins at 0; from the next link on it
 * gets the shared bytes, unless it has an ICY phase.
 *
 *   tape       │ head │ page 0 s │ page 1 s │ page 2 s │ page 3 s EOS │ head │ page 0 s │ …
 *   listener                      │ head │ page 0 s │ page 1 s EOS │ head │ page 0 s │ …
 *                                    joins         moved back          shared
 *
 * Owned by one listener.
 */

import type { Rendering } from '../tape/audio-tape.js';
import type { Phase } from '../tape/phase.js';
import type { LinkStart, OggSegment } from './ogg-segment.js';

export class OggRendering implements Rendering {
  readonly #phase: Phase | null;
  /** Where its own first link begins; null before its first segment. */
  #from: LinkStart | null = null;
  #isLinkOver = false;

  constructor(phase: Phase | null) {
    this.#phase = phase;
  }

  get isShared(): boolean {
    return this.#isLinkOver && this.#phase === null;
  }

  /** As in Rendering; the segments are an Ogg tape's. */
  next(shared: Buffer, segment: OggSegment): readonly Buffer[] {
    const { linkStart, linkBytes } = segment;
    const pieces = this.#from === null || this.#isLinkOver ? [shared] : segment.movedBack(this.#from);
    this.#from ??= linkStart;
    if (linkBytes > 0) this.#isLinkOver = true;
    if (this.#phase === null) return pieces;
    return [this.#phase.splice(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces), segment)];
  }
}
