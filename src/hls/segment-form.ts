/**
 * What a segment's frames become: packed audio (packed.ts) or fragments of MP4 (fragment.ts). One form for what goes on in one format: another format
 * has another, and begins with EXT-X-DISCONTINUITY. What is cut, and where, is the cutter's (cutter.ts), whatever the form.
 */

import type { TitleText } from './hls-title.js';
import type { HlsInit } from './playlist.js';

/** A title ends the segment before it where that lasts as long; else it stands in its tag. */
export const MIN_TITLED_MS = 1000;

/** A title of a segment. */
export interface TaggedTitle {
  readonly text: TitleText;
  /** How much of the segment's audio is before it, milliseconds. */
  readonly offsetMs: number;
}

/** The frames of a segment, one at least. */
export interface SegmentFrames {
  /** Its media sequence number. */
  readonly number: number;
  /** The PROGRAM-DATE-TIME of its discontinuity's start, unix milliseconds, and how many samples lie between that and its first. */
  readonly startMs: number;
  readonly samplesBefore: number;
  /** What the form has made of the frames (`payload`), in one piece, valid during the call. */
  readonly bytes: Buffer;
  /** Of each frame, in bytes and in samples. */
  readonly sizes: readonly number[];
  readonly samples: readonly number[];
  /** Titles in order of their places: the one in force at its beginning, as far as one is known, and those that take effect in it. */
  readonly titles: readonly TaggedTitle[];
}

export interface SegmentForm {
  readonly sampleRate: number;
  /** Names what goes on in one format, in all processes. */
  readonly format: string;
  /** Of its files. */
  readonly extension: string;
  /** RFC 6381. Known when its first segment is made, and the same from then on. */
  readonly codecs: string;
  /** What its segments cannot be played without; null: nothing. */
  readonly init: HlsInit | null;
  /** What of a frame stands in a segment; a view of it. */
  payload(frame: Buffer): Buffer;
  segment(frames: SegmentFrames): Buffer;
}
