/**
 * How much of what a connection sends is audio, and what the rest is (magic.ts). Other bytes are accepted up to OFFSET_SHARE times the audio, and
 * `framelessBytes` on top. Owned by an intake.
 */

import type { AnyFramer } from '../audio/frames/format.js';
import type { Frame } from '../audio/frames/frame.js';
import { Beginning, DAMAGED, type Foreign, UNKNOWN } from './magic.js';

/** Allows for pictures beside the audio, and for a damaged line. */
const OFFSET_SHARE = 8;
/** Bytes that the head of an Ogg link counts for, since it is sent to every listener. */
const START_BYTES = 1024;

export class AudioShare {
  /** Whether any bytes have arrived. */
  hasBytes = false;
  /** Other bytes that no audio has offset. */
  noiseBytes = 0;
  readonly #framer: Pick<AnyFramer, 'counters'>;
  /** How much of the framer's count of other bytes is included in `noiseBytes`. */
  #skippedBytes = 0;
  /** Inspects the stream until the first frame. */
  #beginning: Beginning | null = new Beginning();
  /** What the other bytes around the first frame are. */
  #beside: Foreign | null = null;
  /** The beginning is certainly not a format of ours. */
  #isForeign = false;

  constructor(framer: Pick<AnyFramer, 'counters'>) {
    this.#framer = framer;
  }

  /** The connection has had frames already. Called first. */
  adopt(noiseBytes: number): void {
    this.noiseBytes = noiseBytes;
    this.#beginning = null;
  }

  /** Names the other bytes: before any frame, or beside frames. */
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

  /** @param isStart whether it starts an Ogg link */
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
