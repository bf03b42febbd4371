/**
 * The form of AAC: frames with their ADTS headers, packed, or without them in fragments of MP4. Its CODECS depends on SBR, which the headers do not
 * show, so it is known only once the first segment is made. Owned by HlsForms.
 */

import { ADTS_HEADER_BYTES } from '../audio/frames/adts.js';
import { type FrameHeader, HEADER_BYTES } from '../audio/frames/header.js';
import { FragmentForm, type LastInit } from './fragment.js';
import { aacTrack } from './mp4-track.js';
import { PackedForm } from './packed.js';
import type { HlsInit } from './playlist.js';
import { SbrProbe } from './sbr.js';
import type { SegmentForm, SegmentFrames } from './segment-form.js';

export class AacForm implements SegmentForm {
  readonly sampleRate: number;
  readonly format: string;
  readonly extension: string;
  /** Null: packed. */
  readonly #before: LastInit | null;
  readonly #key: number;
  /** The ADTS header of the first frame. */
  readonly #header: Buffer;
  readonly #probe = new SbrProbe();
  #form: SegmentForm | null = null;

  /** @param frame with its ADTS header @param before as in FragmentForm; null: packed */
  constructor(frame: Buffer, { key, sampleRate }: FrameHeader, before: LastInit | null) {
    this.#header = Buffer.from(frame.subarray(0, HEADER_BYTES));
    this.sampleRate = sampleRate;
    this.extension = before === null ? 'aac' : 'm4s';
    this.#before = before;
    this.#key = key;
    this.format = `${this.extension}-${key}`;
  }

  get codecs(): string {
    return this.#known.codecs;
  }

  get init(): HlsInit | null {
    return this.#known.init;
  }

  /** Keeps several blocks in one frame, which no encoder sends, as one sample. */
  payload(frame: Buffer): Buffer {
    const block = frame.subarray((frame[1]! & 1) === 0 ? ADTS_HEADER_BYTES : HEADER_BYTES);
    if (this.#form === null) this.#probe.count(block);
    return this.#before === null ? frame : block;
  }

  segment(frames: SegmentFrames): Buffer {
    return this.#known.segment(frames);
  }

  get #known(): SegmentForm {
    if (this.#form !== null) return this.#form;
    const track = aacTrack(this.#header, this.#probe.hasSbr);
    this.#form =
      this.#before === null
        ? new PackedForm(this.extension, track.codecs, { key: this.#key, sampleRate: this.sampleRate })
        : new FragmentForm(track, this.#before);
    return this.#form;
  }
}
