/**
 * Reads a tape of MP3 or AAC frame by frame for the cutter. The tape's segments are cut at bytes, so a frame may span two of them. Begins at an
 * entry, as a listener does. Owned by an HlsCutter.
 */

import { emptyHeader, HEADER_BYTES, readHeader } from '../audio/frames/header.js';
import { Reservoir } from '../audio/frames/reservoir.js';
import type { AudioSegment } from '../audio/tape/segment.js';
import type { HlsForms } from './hls-forms.js';
import type { SegmentForm } from './segment-form.js';

const NOTHING = Buffer.alloc(0);

/** Reads the frames of a tape's segments, which it must be given without gaps. */
export interface TapeReader {
  take(segment: AudioSegment): void;
}

/** Receives the frames in order. */
export interface TapeFrameSink {
  /** @param bytes valid during the call @param atMs audio time on the tape */
  onFrame(bytes: Buffer, samples: number, atMs: number, form: SegmentForm): void;
  /** Called when the next frame does not continue the last one. */
  onLost(): void;
}

export class FrameReader implements TapeReader {
  readonly #sink: TapeFrameSink;
  readonly #forms: HlsForms;
  readonly #header = emptyHeader();
  readonly #reservoir = new Reservoir();
  /** Whether the reader must begin at a segment's entry. */
  #isEntering = true;
  /** The part of a frame that the end of the last segment has cut off. */
  #rest = NOTHING;
  /** Audio time of the next frame. */
  #atMs = 0;

  constructor(sink: TapeFrameSink, forms: HlsForms) {
    this.#sink = sink;
    this.#forms = forms;
    this.#reservoir.cut();
  }

  take({ passing: plain, entry, entryMs }: AudioSegment): void {
    const header = this.#header;
    let at = this.#isEntering ? entry : this.#finish(plain);
    if (at < 0) return;
    this.#isEntering = false;
    while (plain.length - at >= HEADER_BYTES) {
      if (!readHeader(plain, at, header)) {
        this.#lose();
        return;
      }
      // Summed durations differ slightly from the tape's time.
      if (at === entry) this.#atMs = entryMs;
      if (plain.length - at < header.lengthBytes) break;
      this.#frame(plain.subarray(at, at + header.lengthBytes));
      at += header.lengthBytes;
    }
    this.#rest = Buffer.from(plain.subarray(at));
  }

  /** Completes the frame that the previous segment has begun. Returns where the next one begins, or -1 if none begins in this segment. */
  #finish(plain: Buffer): number {
    const rest = this.#rest;
    if (rest.length === 0) return 0;
    const start = Buffer.concat([rest, plain.subarray(0, HEADER_BYTES)]);
    if (start.length >= HEADER_BYTES && !readHeader(start, 0, this.#header)) {
      this.#lose();
      return -1;
    }
    const missing = this.#header.lengthBytes - rest.length;
    if (start.length < HEADER_BYTES || plain.length < missing) {
      this.#rest = Buffer.concat([rest, plain]);
      return -1;
    }
    this.#frame(Buffer.concat([rest, plain.subarray(0, missing)]));
    return missing;
  }

  #frame(frame: Buffer): void {
    const { samples, sampleRate } = this.#header;
    const form = this.#forms.ofFrame(frame, this.#header);
    this.#sink.onFrame(this.#reservoir.mend(frame), samples, this.#atMs, form);
    this.#atMs += (samples * 1000) / sampleRate;
  }

  /** Called when a frame is missing where one should begin: continues at the next entry. */
  #lose(): void {
    this.#sink.onLost();
    this.#isEntering = true;
    this.#reservoir.cut();
    this.#rest = NOTHING;
  }
}
