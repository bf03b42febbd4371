/**
 * Reads a tape of MP3 or AAC frame by frame, for the cutter: its segments are cut at bytes, and a frame may lie in two of them. It begins with an
 * entry, as a listener does. Owned by an HlsCutter.
 */

import { emptyHeader, HEADER_BYTES, readHeader } from '../audio/frames/header.js';
import { Reservoir } from '../audio/frames/reservoir.js';
import type { AudioSegment } from '../audio/tape/segment.js';
import type { HlsForms } from './hls-forms.js';
import type { SegmentForm } from './segment-form.js';

const NOTHING = Buffer.alloc(0);

/** What reads frames of a tape's segments, of which none may be left out. */
export interface TapeReader {
  take(segment: AudioSegment): void;
}

/** Gets the frames, in order. */
export interface TapeFrameSink {
  /** @param bytes valid during the call @param atMs audio time on the tape */
  onFrame(bytes: Buffer, samples: number, atMs: number, form: SegmentForm): void;
  /** What comes next does not go on in what came. */
  onLost(): void;
}

export class FrameReader implements TapeReader {
  readonly #sink: TapeFrameSink;
  readonly #forms: HlsForms;
  readonly #header = emptyHeader();
  readonly #reservoir = new Reservoir();
  /** Whether the next frame is that of a segment's entry. */
  #isEntering = true;
  /** What the last segment had of a frame that its end cuts. */
  #rest = NOTHING;
  /** Audio time of the next frame. */
  #atMs = 0;

  constructor(sink: TapeFrameSink, forms: HlsForms) {
    this.#sink = sink;
    this.#forms = forms;
    this.#reservoir.cut();
  }

  take({ plain, entry, entryMs }: AudioSegment): void {
    let bytes = plain;
    let at = 0;
    if (this.#isEntering) {
      if (entry < 0) return;
      this.#isEntering = false;
      at = entry;
    } else if (this.#rest.length > 0) bytes = Buffer.concat([this.#rest, plain]);
    const entryAt = entry < 0 ? -1 : bytes.length - plain.length + entry;
    const header = this.#header;
    while (bytes.length - at >= HEADER_BYTES) {
      if (!readHeader(bytes, at, header)) {
        this.#lose();
        return;
      }
      // What was added up is not exactly what the tape has.
      if (at === entryAt) this.#atMs = entryMs;
      if (bytes.length - at < header.lengthBytes) break;
      this.#frame(bytes.subarray(at, at + header.lengthBytes));
      at += header.lengthBytes;
    }
    this.#rest = Buffer.from(bytes.subarray(at));
  }

  #frame(frame: Buffer): void {
    const { samples, sampleRate } = this.#header;
    const form = this.#forms.ofFrame(frame, this.#header);
    this.#sink.onFrame(this.#reservoir.mend(frame), samples, this.#atMs, form);
    this.#atMs += (samples * 1000) / sampleRate;
  }

  /** There is no frame where one should be: it goes on with the next entry. */
  #lose(): void {
    this.#sink.onLost();
    this.#isEntering = true;
    this.#reservoir.cut();
    this.#rest = NOTHING;
  }
}
