/**
 * Whether a frame holds digital silence, judged by its header, without decoding a sample.
 *
 *   MP3 (layer III)  the side information of every granule and channel counts no "big values" (ISO 11172-3 2.4.1.7): what it could
 *                    still hold are ones at the edge of the spectrum, of which no music or speech consists. At any bitrate.
 *   AAC (ADTS)       at most SILENT_AAC_BYTES for 1,024 samples. An encoder that fills its frames up to a constant size hides it.
 *
 * Limits: hum, dither and noise are not silence; layers I and II, and anything but MPEG audio, are never silent. Pure, and allocates
 * nothing.
 */

import type { FrameHeader } from '../audio/frames/header.js';
import { wholePceBytes } from '../audio/frames/program-config.js';

/** Silent frames of AAC encoders have 4 to 6 bytes after their header, some more with SBR; music always needs more. */
const SILENT_AAC_BYTES = 24;

/** @param header of exactly this frame */
export function isSilent(frame: Buffer, header: FrameHeader): boolean {
  if (header.codec === 'aac') {
    // A frame that describes its channels has no other content (audio/frames/program-config.ts).
    const namedBytes = header.channels === 0 ? wholePceBytes(frame.subarray(7)) : 0;
    return frame.length - 7 - namedBytes <= SILENT_AAC_BYTES * (header.samples / 1024);
  }
  if (header.codec !== 'mp3') return false;
  const second = frame[1]!;
  const isFirstVersion = (second & 0x18) === 0x18;
  const isMono = header.channels === 1;
  const channels = isMono ? 1 : 2;
  // The header (and its CRC) is followed by main_data_begin, private bits and, in MPEG 1, the part that granules share; then one part for
  // each granule and channel, of 59 bits (63 in MPEG 2), in which big_values are 9 bits after the first 12.
  let bit = ((second & 1) === 0 ? 48 : 32) + (isFirstVersion ? (isMono ? 18 : 20) : isMono ? 9 : 10) + 12;
  const partBits = isFirstVersion ? 59 : 63;
  const parts = (isFirstVersion ? 2 : 1) * channels;
  if ((bit + partBits * parts) >> 3 > frame.length) return false;
  for (let part = 0; part < parts; part++, bit += partBits) {
    const at = bit >> 3;
    if ((((frame[at]! << 8) | frame[at + 1]!) >> (7 - (bit & 7))) & 0x1ff) return false;
  }
  return true;
}
