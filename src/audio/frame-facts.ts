/** What the first frame behind a start, a gap or a change of source says of its stream: for heads and statistics. Owned by ChannelAudio. */

import { type Codec, emptyHeader, HEADER_BYTES, readHeader } from './header.js';

export class FrameFacts {
  /** The next frame is the first of its stream. */
  isDue = true;
  readonly #header = emptyHeader();

  get codec(): Codec {
    return this.#header.codec;
  }

  /** Hertz; 0: not known. */
  get sampleRate(): number {
    return this.#header.sampleRate;
  }

  /** 0: not known. */
  get channels(): number {
    return this.#header.channels;
  }

  read(frame: Buffer): void {
    this.isDue = false;
    if (frame.length >= HEADER_BYTES) readHeader(frame, 0, this.#header);
  }
}
