/**
 * The form in which a segment holds its frames: packed audio (packed.ts) or fragments of MP4 (fragment.ts). Each format has one form; another format
 * begins with EXT-X-DISCONTINUITY. The cutter (cutter.ts) decides where to cut, whatever the form.
 */

import type { TitleText } from './hls-title.js';
import type { HlsInit } from './playlist.js';

/** A title ends the previous segment if that has this duration; otherwise it goes into its tag. */
export const MIN_TITLED_MS = 1000;

export interface TaggedTitle {
  readonly text: TitleText;
  /** The segment's audio before it, milliseconds. */
  readonly offsetMs: number;
}

/** The frames of a segment, at least one. */
export interface SegmentFrames {
  /** Its media sequence number. */
  readonly number: number;
  /** The PROGRAM-DATE-TIME of its discontinuity's start, Unix milliseconds, and the samples from there to its first. */
  readonly startMs: number;
  readonly samplesBefore: number;
  /** The frames' payloads (`SegmentForm.payload`), valid during the call. */
  readonly bytes: Buffer;
  /** The payload's bytes, and the samples, of each frame. */
  readonly sizes: readonly number[];
  readonly samples: readonly number[];
  /** Titles in order of their places: the one in force at its start, if known, and those that take effect in it. */
  readonly titles: readonly TaggedTitle[];
}

export interface SegmentForm {
  readonly sampleRate: number;
  /** Identifies the format, in all processes. */
  readonly format: string;
  readonly extension: string;
  /** RFC 6381. Known once the first segment is made, and constant from then on. */
  readonly codecs: string;
  /** The initialization section of its segments; null if they need none. */
  readonly init: HlsInit | null;
  /** Returns the part of a frame that a segment holds, as a view. */
  payload(frame: Buffer): Buffer;
  segment(frames: SegmentFrames): Buffer;
}
