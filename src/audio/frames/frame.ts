/**
 * A whole frame of MP3 or AAC, or a packet out of Ogg, as it goes from a framer to the tape. A framer has one and writes it anew each time, so it
 * and its bytes are valid only during the call that it is passed to; what keeps it makes a copy (`keepFrame`).
 */

import type { OggLink } from '../ogg/ogg-link.js';

export interface Frame {
  readonly bytes: Buffer;
  /** Its exact playing time: samples / sample rate. */
  readonly durationMs: number;
  /** kb/s: of this frame; where frames do not say it (AAC, Ogg), the mean of about the last second, rounded. */
  readonly bitrateKbps: number;
  /** The first one after a start, a tag or a gap: it does not continue the frame before it. */
  readonly fresh: boolean;
  /** Of a packet out of Ogg: what a decoder must have before it. */
  readonly link: OggLink | undefined;
}

/** A copy. */
export interface KeptFrame extends Frame {
  /** When it came in, monotonic milliseconds. */
  readonly arrivedMs: number;
}

/** As a framer writes it. */
export type WritableFrame = { -readonly [Member in keyof Frame]: Frame[Member] };

/** As a framer has it before its first frame. */
export function firstFrame(): WritableFrame {
  return { bytes: Buffer.alloc(0), durationMs: 0, bitrateKbps: 0, fresh: true, link: undefined };
}

export function keepFrame({ bytes, durationMs, bitrateKbps, fresh, link }: Frame, arrivedMs: number): KeptFrame {
  return { bytes: Buffer.from(bytes), durationMs, bitrateKbps, fresh, link, arrivedMs };
}
