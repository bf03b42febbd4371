/**
 * How much of what a connection sends is audio, and what the rest is (magic.ts). Other bytes are accepted up to OFFSET_SHARE times the audio, and
 * `framelessBytes` on top. Owned by an intake.
 */

import type { AnyFramer } from '../audio/frames/format.js';
import type { Frame } from '../audio/frames/frame.js';
import { Beginning, DAMAGED, type Foreign, UNKNOWN } from './magic.js';

/** Pictures beside the audio, a damaged line. */
const OFFSET_SHARE = 8;
/** The head of an Ogg link counts as other bytes, since it is sent to every listener. */
const START_BYTES = 1024;

export class AudioShare {
  /** Something has come. */
  hasBytes = false;
  /** Bytes of no audio that no audio has offset. */
  noiseBytes = 0;
  readonly #framer: Pick<AnyFramer, 'counters'>;
  /** How far the framer's count of other bytes is in `noiseBytes`. */
  #skippedBytes = 0;
  /** Until the first frame. */
  #beginning: Beginning | null = new Beginning();
  /** What came beside the first frame. */
  #beside: Foreign | null = null;
  /** The beginning is certainly none of ours. */
  #isForeign = false;

  constructor(framer: Pick<AnyFramer, 'counters'>) {
    this.#framer = framer;
  }

  /** The connection has had frames already. Before all else. */
  adopt(noiseBytes: number): void {
    this.noiseBytes = noiseBytes;
    this.#beginning = null;
  }

  /** What comes, where no frame has come, or beside frames. */
  get foreign(): Foreign {
    if (this.#framer.counters.frames > 0) return this.#beside ?? DAMAGED;
    return this.#beginning?.whole() ?? UNKNOWN;
  }

  isTooLow(framelessBytes: number): boolean {
    if (this.#isForeign && this.#beginning !== null) return true;
    return this.noiseBytes + this.#framer.counters.skippedBytes - this.#skippedBytes > framelessBytes;
  }

  onBytes(piece: Buffer): void {
    this.hasBytes = true;
    if (this.#beginning?.push(piece)) this.#isForeign = true;
  }

  /** @param isStart of a link of Ogg */
  onFrame({ bytes }: Frame, isStart: boolean): void {
    if (this.#beginning !== null) {
      this.#beside = this.#beginning.beside();
      this.#beginning = null;
    }
    const { skippedBytes } = this.#framer.counters;
    const lostBytes = skippedBytes - this.#skippedBytes + (isStart ? START_BYTES : 0);
    this.#skippedBytes = skippedBytes;
    this.noiseBytes = Math.max(0, this.noiseBytes + lostBytes - OFFSET_SHARE * bytes.length);
  }
}
