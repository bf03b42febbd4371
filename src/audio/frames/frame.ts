/**
 * A whole frame of MP3 or AAC, or a packet of Ogg, on its way from a framer to the tape. A framer reuses one object, so it and its bytes are valid
 * only during the call; keep a copy (`keepFrame`).
 */

import type { OggLink } from '../ogg/ogg-link.js';

export interface Frame {
  readonly bytes: Buffer;
  /** Its exact playing time: samples / sample rate. */
  readonly durationMs: number;
  /** kb/s of this frame; for AAC and Ogg, whose frames do not say it, the mean of about the last second, rounded. */
  readonly bitrateKbps: number;
  /** The first frame after a start, a tag or a gap: it does not continue the frame before it. */
  readonly fresh: boolean;
  /** For a packet of Ogg: the headers that a decoder needs first. */
  readonly link: OggLink | undefined;
}

/** A copy, which stays valid. */
export interface KeptFrame extends Frame {
  /** When it arrived, monotonic milliseconds. */
  readonly arrivedMs: number;
}

export type WritableFrame = { -readonly [Member in keyof Frame]: Frame[Member] };

/** A framer's frame object, before its first frame. */
export function firstFrame(): WritableFrame {
  return { bytes: Buffer.alloc(0), durationMs: 0, bitrateKbps: 0, fresh: true, link: undefined };
}

export function keepFrame({ bytes, durationMs, bitrateKbps, fresh, link }: Frame, arrivedMs: number): KeptFrame {
  return { bytes: Buffer.from(bytes), durationMs, bitrateKbps, fresh, link, arrivedMs };
}
