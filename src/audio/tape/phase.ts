/**
 * A listener's own ICY phase: a block after every `metaint` bytes since its first. For tapes whose segments differ in length (Ogg), and for listeners
 * whose blocks are further apart than those of the segments. The one place where bytes are made for a single listener: at most one buffer a segment,
 * and only if a block falls there.
 *
 *   segment   │ page page page EOS │ head of the next link │
 *   spliced   │ page pa ⟨block⟩ ge page EOS │ head of ⟨block⟩ the next link │
 *                        before                       mark
 *
 * A block has the title of the link at its place. Owned by one listener.
 */

import type { AudioSegment } from './segment.js';

export class Phase {
  readonly #metaint: number;
  /** Bytes until the next block, 1 to metaint: a block between two segments goes with the first. */
  #left: number;
  /** The title that the listener has by now, as a block. */
  #said: Buffer | undefined;

  constructor(metaint: number) {
    this.#metaint = metaint;
    this.#left = metaint;
  }

  /**
   * The segment's bytes with this listener's blocks in them; `audio` itself if none falls there. Call it for each segment in turn.
   * @param audio the segment as listeners without ICY get it; a first one may begin otherwise, but ends with the same bytes
   */
  splice(audio: Buffer, { before, mark, linkBytes }: Pick<AudioSegment, 'before' | 'mark' | 'linkBytes'>): Buffer {
    const { length } = audio;
    if (this.#left > length) {
      this.#left -= length;
      return audio;
    }
    const blocks = 1 + Math.floor((length - this.#left) / this.#metaint);
    // Each title is written once at most.
    const textBytes = (before?.block.length ?? 0) + (mark?.block.length ?? 0);
    const out = Buffer.allocUnsafeSlow(length + blocks + textBytes);
    const markAt = length - linkBytes;
    let from = 0;
    let fill = 0;
    for (let to = this.#left; to <= length; to += this.#metaint) {
      fill += audio.copy(out, fill, from, to);
      const block = (to < markAt ? before : mark)?.block;
      if (block === undefined || block === this.#said) out[fill++] = 0;
      else fill += block.copy(out, fill);
      this.#said = block;
      from = to;
    }
    fill += audio.copy(out, fill, from);
    this.#left = this.#metaint - (length - from);
    return out.subarray(0, fill);
  }
}
