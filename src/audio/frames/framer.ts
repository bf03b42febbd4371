/**
 * Finds the frames in a byte stream of any chunking, and hands on only those, unchanged except AAC whose headers do not name its channels
 * (program-config.ts).
 *
 *     chunk   …tail][frame][frame][ID3…………][Xing][frame][fra          kept in the scratch until its rest arrives
 *     sink          └view ┘└view ┘                 └view ┘ └───────►
 *
 * Invariant: every byte of the input is handed on, belongs to a tag or an info frame, waits in the scratch, or is counted in `skippedBytes`, as are
 * bytes of tags past MAX_TAGS_BYTES. Memory is one scratch buffer of SCRATCH_BYTES, whatever the input. Owned by one source.
 */

import type { SaidTitle } from '../ogg/ogg-link.js';
import { type Frame, firstFrame } from './frame.js';
import {
  APE_HEADER_BYTES,
  type Codec,
  emptyHeader,
  type FrameHeader,
  HEADER_BYTES,
  isFollowed,
  isInfoFrame,
  MAX_FRAME_BYTES,
  mayBeTag,
  readHeader,
  tagBytes,
} from './header.js';
import { MeanBitrate, type MeanBitrateState } from './mean-bitrate.js';
import { ProgramConfig } from './program-config.js';

export type { Codec } from './header.js';

/** The most that a Framer keeps: the largest frame and the header of the frame that confirms it. */
export const SCRATCH_BYTES = MAX_FRAME_BYTES + HEADER_BYTES;

/** Maximum of tags between two frames; pictures have some MB. An ID3v2 tag may claim 256 MB, and another may follow it. */
export const MAX_TAGS_BYTES = 16 * 1024 * 1024;

/** How a tag begins. */
const ID3 = Buffer.from('ID3');

export interface FrameSink {
  /** Frames in stream order, each valid only during the call (frame.ts). The sink may call the framer's `pause`, and nothing else. */
  onFrame(frame: Frame): void;
  /** The charset of titles that are not UTF-8. Absent: Windows-1252. */
  readonly charset?: string | undefined;
  /** A title in the stream, before the next frame. */
  onTitle?(title: SaidTitle): void;
}

/** A framer's position in its stream, as plain data, with which another one resumes. */
export interface FramerState {
  readonly format: 'frames';
  readonly facts: Pick<Framer, 'codec' | 'sampleRate' | 'channels'> & Pick<Frame, 'bitrateKbps'>;
  /** The beginning of an incomplete frame or tag. */
  readonly kept: Buffer;
  readonly neededBytes: number;
  readonly tagLeftBytes: number;
  readonly tagsBytes: number;
  readonly key: number;
  readonly atBoundary: boolean;
  readonly atFirst: boolean;
  readonly fresh: boolean;
  readonly mean: MeanBitrateState;
  /** As in ProgramConfig. */
  readonly pce: Buffer;
}

export class Framer {
  /** Facts of the latest frame; undefined and 0 before the first. */
  codec: Codec | undefined;
  sampleRate = 0;
  channels = 0;
  /** Frames handed on; unrecognized bytes, and those of tags past MAX_TAGS_BYTES; tags and Xing/Info/VBRI frames dropped. */
  readonly counters = { frames: 0, skippedBytes: 0, tags: 0, infoFrames: 0 };

  readonly #sink: FrameSink;
  readonly #header = emptyHeader();
  readonly #following = emptyHeader();
  readonly #scratch = Buffer.alloc(SCRATCH_BYTES);
  /** Bytes in the scratch, and how many it must hold before the next step can be taken. */
  #keptBytes = 0;
  #neededBytes = HEADER_BYTES;
  #tagLeftBytes = 0;
  /** Bytes of tags since the last frame. */
  #tagsBytes = 0;
  /** The fixed fields of this stream's frames; 0: no sync, so the next frame counts only if another confirms it. */
  #key = 0;
  /** Nothing has been skipped since the last frame, tag or start. */
  #atBoundary = true;
  /** Behind a tag or a new sync: a file may begin here. */
  #atFirst = false;
  /** The latest frame; `fresh` is already that of the next one. */
  readonly #frame = firstFrame();
  readonly #mean = new MeanBitrate();
  readonly #config = new ProgramConfig();
  #isPaused = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Forgets the sync and incomplete input, as at the start of a file. Counters and the facts of the latest frame stay. */
  reset(): void {
    this.counters.skippedBytes += this.#keptBytes;
    this.#keptBytes = 0;
    this.#tagLeftBytes = 0;
    this.#tagsBytes = 0;
    this.#key = 0;
    this.#atBoundary = true;
    this.#config.pce = Buffer.alloc(0);
  }

  get state(): FramerState {
    const { codec, sampleRate, channels } = this;
    const { bitrateKbps, fresh } = this.#frame;
    return {
      format: 'frames',
      facts: { codec, sampleRate, channels, bitrateKbps },
      kept: Buffer.from(this.#scratch.subarray(0, this.#keptBytes)),
      neededBytes: this.#neededBytes,
      tagLeftBytes: this.#tagLeftBytes,
      tagsBytes: this.#tagsBytes,
      key: this.#key,
      atBoundary: this.#atBoundary,
      atFirst: this.#atFirst,
      fresh,
      mean: this.#mean.state,
      pce: this.#config.pce,
    };
  }

  /** Resumes where another framer stopped. Before the first `push`. */
  adopt(state: FramerState): void {
    const { codec, sampleRate, channels, bitrateKbps } = state.facts;
    this.codec = codec;
    this.sampleRate = sampleRate;
    this.channels = channels;
    this.#frame.bitrateKbps = bitrateKbps;
    this.#frame.fresh = state.fresh;
    this.#keptBytes = state.kept.copy(this.#scratch);
    this.#neededBytes = state.neededBytes;
    this.#tagLeftBytes = state.tagLeftBytes;
    this.#tagsBytes = state.tagsBytes;
    this.#key = state.key;
    this.#atBoundary = state.atBoundary;
    this.#atFirst = state.atFirst;
    this.#mean.adopt(state.mean);
    this.#config.pce = state.pce;
  }

  /** Called by the sink: nothing more is handed on until the next `push`. */
  pause(): void {
    this.#isPaused = true;
  }

  /**
   * The next bytes of the stream, in any chunking. Frames that are complete reach the sink before this returns.
   * Returns how many were taken: all, unless the sink has paused it; then the rest must be pushed again.
   */
  push(chunk: Buffer): number {
    this.#isPaused = false;
    let at = 0;
    while (at < chunk.length) {
      if (this.#tagLeftBytes > 0) {
        at = this.#passTag(at, chunk.length);
      } else if (this.#keptBytes === 0) {
        at = this.#walk(chunk, at, chunk.length);
        if (this.#isPaused || at === chunk.length) return at;
        this.#keptBytes = chunk.copy(this.#scratch, 0, at);
        return chunk.length;
      } else {
        // After a pause the scratch may hold more than the next step needs.
        const wantedBytes = Math.max(0, this.#neededBytes - this.#keptBytes);
        const copied = chunk.copy(this.#scratch, this.#keptBytes, at, at + wantedBytes);
        this.#keptBytes += copied;
        at += copied;
        if (this.#keptBytes < this.#neededBytes) return at;
        const done = this.#walk(this.#scratch, 0, this.#keptBytes);
        const rest = this.#keptBytes - done;
        if (rest <= copied) {
          // The rest lies in this chunk too: continue there, where whole frames need no copy.
          at -= rest;
          this.#keptBytes = 0;
        } else {
          this.#scratch.copyWithin(0, done, this.#keptBytes);
          this.#keptBytes = rest;
        }
        if (this.#isPaused) return at;
      }
    }
    return at;
  }

  /** Takes every step that bytes[at, end) allow. @returns where it stopped; it must see #neededBytes from there in one piece */
  #walk(bytes: Buffer, at: number, end: number): number {
    const header = this.#header;
    this.#neededBytes = HEADER_BYTES;
    while (end - at >= HEADER_BYTES) {
      const found = readHeader(bytes, at, header);
      if (found && header.key === this.#key) {
        if (end - at < header.lengthBytes) {
          this.#neededBytes = header.lengthBytes;
          break;
        }
        if (!isFollowed(bytes, at, end, header)) {
          const tagAt = bytes.subarray(at, at + header.lengthBytes).indexOf(ID3);
          if (tagAt > 0 && end - at < header.lengthBytes + HEADER_BYTES) {
            this.#neededBytes = header.lengthBytes + HEADER_BYTES;
            break;
          }
          // A file that was cut ends within its last frame, and the next one begins with a tag.
          if (tagAt > 0 && tagBytes(bytes, at + tagAt, false) > 0) {
            this.counters.skippedBytes += tagAt;
            at += tagAt;
            continue;
          }
        }
        if (isInfoFrame(bytes, at, header, this.#atFirst)) {
          this.counters.infoFrames++;
          this.#frame.fresh = true;
        } else this.#handOn(bytes, at, header);
        this.#atFirst = false;
        at += header.lengthBytes;
        if (this.#isPaused) break;
        continue;
      }
      at = this.#seek(bytes, at, end, found);
      if (this.#neededBytes > HEADER_BYTES) break;
    }
    return at;
  }

  /** One step where no frame of this stream begins: past a tag, into sync (without moving), or past one byte of garbage. */
  #seek(bytes: Buffer, at: number, end: number, found: boolean): number {
    if (mayBeTag(bytes, at)) {
      if (end - at < APE_HEADER_BYTES) {
        this.#neededBytes = APE_HEADER_BYTES;
        return at;
      }
      this.#tagLeftBytes = tagBytes(bytes, at, this.#atBoundary);
      if (this.#tagLeftBytes > 0) {
        this.counters.tags++;
        this.#atBoundary = true;
        this.#atFirst = true;
        this.#frame.fresh = true;
        return this.#passTag(at, end);
      }
    }
    this.#key = 0;
    if (found) {
      const next = at + this.#header.lengthBytes;
      if (end - next < HEADER_BYTES) {
        this.#neededBytes = this.#header.lengthBytes + HEADER_BYTES;
        return at;
      }
      if (readHeader(bytes, next, this.#following) && this.#following.key === this.#header.key) {
        this.#key = this.#header.key;
        this.#atBoundary = true;
        this.#atFirst = true;
        this.#frame.fresh = true;
        return at;
      }
    }
    this.#atBoundary = false;
    this.counters.skippedBytes++;
    return at + 1;
  }

  #passTag(at: number, end: number): number {
    const passed = Math.min(this.#tagLeftBytes, end - at);
    this.#tagLeftBytes -= passed;
    this.#tagsBytes += passed;
    this.counters.skippedBytes += Math.max(0, Math.min(passed, this.#tagsBytes - MAX_TAGS_BYTES));
    return at + passed;
  }

  #handOn(bytes: Buffer, at: number, header: FrameHeader): void {
    const frame = this.#frame;
    frame.durationMs = (header.samples * 1000) / header.sampleRate;
    if (header.codec !== this.codec || header.sampleRate !== this.sampleRate) this.#mean.reset();
    frame.bitrateKbps =
      header.codec === 'aac'
        ? this.#mean.count(header.lengthBytes, frame.durationMs, frame.bitrateKbps)
        : header.bitrateKbps;
    this.codec = header.codec;
    this.sampleRate = header.sampleRate;
    this.channels = header.channels;
    this.counters.frames++;
    this.#tagsBytes = 0;
    const whole = bytes.subarray(at, at + header.lengthBytes);
    frame.bytes = header.codec !== 'aac' || header.channels > 0 ? whole : this.#config.mend(whole);
    this.#sink.onFrame(frame);
    frame.fresh = false;
  }
}
