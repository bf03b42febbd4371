/**
 * Reads the bytes of a source in any format: by the first ones, MP3 and AAC go to one framer (framer.ts), Ogg to another (ogg.ts).
 * Invariant: it hands on and counts exactly what the chosen framer does. Owned by one source.
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

/** The same position, for a channel that did not get the audio before it: the next frame is fresh. */
export function heardFromHere(state: FormatState): FormatState {
  return state.format === 'frames' ? { ...state, fresh: true } : { ...state, stream: { ...state.stream, fresh: true } };
}

/** The format of a stream, as far as its content type tells it from others; heads say `audio/mpeg` of MP2 too (RFC 3003). */
export type Format = Codec | 'ogg';

const CAPTURE = Buffer.from('OggS');
const TYPES: readonly (readonly [RegExp, Exclude<Format, 'mp2'>])[] = [
  [/aac/, 'aac'],
  [/mpeg|mp3|mp2/, 'mp3'],
  [/ogg|opus|vorbis/, 'ogg'],
];

/** The content type of a stream; undefined: unknown yet. */
export function contentTypeOf(format: Format | OggCodec): string;
export function contentTypeOf(format: Format | undefined): string | undefined;
export function contentTypeOf(format: Format | OggCodec | undefined): string | undefined {
  if (format === undefined) return undefined;
  return format === 'mp3' ? 'audio/mpeg' : format === 'mp2' || format === 'aac' ? `audio/${format}` : 'audio/ogg';
}

/** The codec of a content type or of Ogg; undefined: neither names one. */
export function codecOf(sends: string | null): AudioFormat['codec'] | undefined {
  return CODECS.find((each) => each === sends || contentTypeOf(each) === sends);
}

/** The format that a content type names, of MPEG audio not its layer; undefined: none. */
export function formatOf(contentType: string): Exclude<Format, 'mp2'> | undefined {
  return TYPES.find(([type]) => type.test(contentType))?.[1];
}

/** A framer for a source of unknown format. @param known as in OggFramer */
export function framerFor(sink: FrameSink, known?: KnownLinks): AnyFramer {
  return new AnyFramer(sink, known);
}

class AnyFramer {
  readonly #sink: FrameSink;
  readonly #known: KnownLinks | undefined;
  #framer: Framer | OggFramer;
  /** Bytes of the capture pattern that have arrived; all of them once a framer is chosen. */
  #matched = 0;

  constructor(sink: FrameSink, known?: KnownLinks) {
    this.#sink = sink;
    this.#known = known;
    this.#framer = new Framer(sink);
  }

  /** The format of the latest frame; undefined before the first. */
  get codec(): Format | undefined {
    const framer = this.#framer;
    if (framer instanceof Framer) return framer.codec;
    return framer.link === undefined ? undefined : 'ogg';
  }

  /** How long the source may be filling an Ogg page in silence (ogg.ts), milliseconds. */
  get pageMs(): number {
    return this.#framer instanceof Framer ? 0 : this.#framer.pageMs;
  }

  /** Frames handed on, and unrecognized bytes. */
  get counters(): { readonly frames: number; readonly skippedBytes: number } {
    return this.#framer.counters;
  }

  /** The link of the latest packet, if it is Ogg. */
  get link(): OggLink | undefined {
    return this.#framer instanceof OggFramer ? this.#framer.link : undefined;
  }

  /** Number of Ogg links whose headers were read. */
  get links(): number {
    return this.#framer instanceof OggFramer ? this.#framer.counters.links : 0;
  }

  /** Its position; null: the format is unknown yet. */
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

  /** The next bytes of the stream, in any chunking. Returns how many were taken: all, unless the sink has paused it. */
  push(chunk: Buffer): number {
    if (this.#matched < CAPTURE.length) this.#choose(chunk);
    const mayGoOn = this.#known?.isEmpty === false && this.#framer instanceof Framer && this.codec === undefined;
    const at = mayGoOn ? chunk.indexOf(PAGE_START) : -1;
    if (at < 0) return this.#framer.push(chunk);
    // A known stream, from the middle of a page.
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
