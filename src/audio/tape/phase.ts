/**
 * A listener's own ICY phase, on a tape whose segments have lengths of their own (Ogg), or where its blocks stand further apart than those of the
 * segments: after every `metaint` bytes since its first one stands a block. The one place where something is made for a single listener: at most one
 * buffer a segment, only where a block falls.
 *
 *   segment   │ page page page EOS │ head of the next link │
 *   spliced   │ page pa ⟨block⟩ ge page EOS │ head of ⟨block⟩ the next link │
 *                        before                       mark
 *
 * The title in a block is the one whose link stands there. Owned by one listener.
 */

import type { AudioSegment } from './segment.js';

export class Phase {
  readonly #metaint: number;
  /** Bytes until the next block, 1 to metaint: one that falls between two segments goes with the first. */
  #left: number;
  /** What the last block said. */
  #said: Buffer | undefined;

  constructor(metaint: number) {
    this.#metaint = metaint;
    this.#left = metaint;
  }

  /**
   * The segment's bytes with this listener's blocks in them; `audio` itself where none falls there. Call it for each segment in turn.
   * @param audio the segment as listeners without ICY get it: whatever is put before a first one, it ends with the same bytes
   */
  splice(audio: Buffer, { before, mark, linkBytes }: Pick<AudioSegment, 'before' | 'mark' | 'linkBytes'>): Buffer {
    const { length } = audio;
    if (this.#left > length) {
      this.#left -= length;
      return audio;
    }
    const blocks = 1 + Math.floor((length - this.#left) / this.#metaint);
    // Each title is said once at most.
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
