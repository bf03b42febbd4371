/**
 * What a source reads its bytes with, whatever they are: by the first of them, MP3 and AAC go to one framer (framer.ts), Ogg to
 * another (ogg.ts). Invariant: what the chosen one would hand on and count, it hands on and counts. Owned by one source.
 */

import type { KnownLinks } from '../ogg/known-links.js';
import { OggFramer } from '../ogg/ogg.js';
import type { OggCodec } from '../ogg/ogg-codec.js';
import type { OggLink } from '../ogg/ogg-link.js';
import { PAGE_START } from '../ogg/ogg-page.js';
import type { OggFramerState } from '../ogg/ogg-state.js';
import { type AudioFormat, CODECS } from './audio-format.js';
import { type Codec, Framer, type FramerState, type FrameSink } from './framer.js';

/** A framer's position in its stream, as plain data. */
export type FormatState = FramerState | OggFramerState;

/** The same position, for a channel in which the audio before it was not heard. */
export function heardFromHere(state: FormatState): FormatState {
  return state.format === 'frames' ? { ...state, fresh: true } : { ...state, stream: { ...state.stream, fresh: true } };
}

/** What a stream is, as far as its content type goes; heads say `audio/mpeg` of MP2 too (RFC 3003). */
export type Format = Codec | 'ogg';

const CAPTURE = Buffer.from('OggS');
const TYPES: readonly (readonly [RegExp, Exclude<Format, 'mp2'>])[] = [
  [/aac/, 'aac'],
  [/mpeg|mp3|mp2/, 'mp3'],
  [/ogg|opus|vorbis/, 'ogg'],
];

/** The content type of a stream; undefined where it is not known yet. */
export function contentTypeOf(format: Format | OggCodec): string;
export function contentTypeOf(format: Format | undefined): string | undefined;
export function contentTypeOf(format: Format | OggCodec | undefined): string | undefined {
  if (format === undefined) return undefined;
  return format === 'mp3' ? 'audio/mpeg' : format === 'mp2' || format === 'aac' ? `audio/${format}` : 'audio/ogg';
}

/** By a content type, or a codec of Ogg; undefined: it is of neither. */
export function codecOf(sends: string | null): AudioFormat['codec'] | undefined {
  return CODECS.find((each) => each === sends || contentTypeOf(each) === sends);
}

/** What a content type says of the frames, of MPEG audio not which layer; undefined: nothing. */
export function formatOf(contentType: string): Exclude<Format, 'mp2'> | undefined {
  return TYPES.find(([type]) => type.test(contentType))?.[1];
}

/** A framer for a source that does not know yet what it will send. @param known as OggFramer has it */
export function framerFor(sink: FrameSink, known?: KnownLinks): AnyFramer {
  return new AnyFramer(sink, known);
}

class AnyFramer {
  readonly #sink: FrameSink;
  readonly #known: KnownLinks | undefined;
  #framer: Framer | OggFramer;
  /** How much of the capture pattern has come; once it is chosen, all of it. */
  #matched = 0;

  constructor(sink: FrameSink, known?: KnownLinks) {
    this.#sink = sink;
    this.#known = known;
    this.#framer = new Framer(sink);
  }

  /** Of the latest frame; undefined before the first. */
  get codec(): Format | undefined {
    const framer = this.#framer;
    if (framer instanceof Framer) return framer.codec;
    return framer.link === undefined ? undefined : 'ogg';
  }

  /** How long the source may be filling an Ogg page in silence (ogg.ts), milliseconds. */
  get pageMs(): number {
    return this.#framer instanceof Framer ? 0 : this.#framer.pageMs;
  }

  /** Frames handed on, and bytes of nothing known. */
  get counters(): { readonly frames: number; readonly skippedBytes: number } {
    return this.#framer.counters;
  }

  /** Of the latest packet, where it is Ogg. */
  get link(): OggLink | undefined {
    return this.#framer instanceof OggFramer ? this.#framer.link : undefined;
  }

  /** Links of Ogg whose headers were read. */
  get links(): number {
    return this.#framer instanceof OggFramer ? this.#framer.counters.links : 0;
  }

  /** Its position; null: the format is not known yet. */
  get state(): FormatState | null {
    return this.#matched >= CAPTURE.length ? this.#framer.state : null;
  }

  /** Resumes where another framer stopped. Before the first `push`. */
  adopt(state: FormatState): void {
    this.#matched = CAPTURE.length;
    if (state.format === 'frames') (this.#framer as Framer).adopt(state);
    else {
      const framer = new OggFramer(this.#sink, this.#known);
      framer.adopt(state);
      this.#framer = framer;
    }
  }

  /** Called by the sink: nothing more is handed on until the next `push`. */
  pause(): void {
    this.#framer.pause();
  }

  /** The next bytes of the stream, in any number. Returns how many were taken: all, unless the sink has paused it. */
  push(chunk: Buffer): number {
    if (this.#matched < CAPTURE.length) this.#choose(chunk);
    const mayGoOn = this.#known?.isEmpty === false && this.#framer instanceof Framer && this.codec === undefined;
    const at = mayGoOn ? chunk.indexOf(PAGE_START) : -1;
    if (at < 0) return this.#framer.push(chunk);
    // A known stream, from the middle of a page on.
    this.#framer = new OggFramer(this.#sink, this.#known);
    return at + this.#framer.push(chunk.subarray(at));
  }

  /** As at the start of another file in the same format. */
  reset(): void {
    this.#framer.reset();
  }

  #choose(chunk: Buffer): void {
    const length = Math.min(chunk.length, CAPTURE.length - this.#matched);
    if (chunk.compare(CAPTURE, this.#matched, this.#matched + length, 0, length) !== 0) this.#matched = CAPTURE.length;
    else {
      this.#matched += length;
      if (this.#matched < CAPTURE.length) return;
      this.#framer = new OggFramer(this.#sink, this.#known);
      this.#framer.push(CAPTURE.subarray(0, CAPTURE.length - length));
    }
  }
}

export type { AnyFramer };
