/** A frame in the form in which a framer passes it on. */

import type { Frame } from '../../src/audio/frames/frame.js';
import type { OggLink } from '../../src/audio/ogg/ogg-link.js';

export function frameOf(bytes: Buffer, durationMs: number, bitrateKbps: number, fresh = false, link?: OggLink): Frame {
  return { bytes, durationMs, bitrateKbps, fresh, link };
}
