/**
 * What a listener begins with: its first segment, so made that no decoder complains (protocol.md, "Joining in the middle").
 *
 *   segment   │ rest of a frame │ frame │ frame │ frame …│
 *   entered   │ ID3 tag ………………… │ muted │ frame │ frame …│    every byte behind stays in its place, and so does every ICY block
 *
 * Pure: one copy for all who begin with this segment (segment.ts keeps it).
 */

import { emptyHeader, HEADER_BYTES, readHeader } from './header.js';
import { Reservoir } from './reservoir.js';

/** An ID3v2 tag's head; of a body of less than ten bytes mpg123 complains. */
const TAG_HEAD_BYTES = 10;
export const LEAST_TAG_BYTES = 20;

/**
 * Turns a copy of a segment into what a listener begins with.
 * @param out the segment, changed in place; may have a block behind its audio
 * @param entry offset of the first frame: 0, or at least LEAST_TAG_BYTES
 * @param metaint audio bytes in the segment
 */
export function enter(out: Buffer, entry: number, metaint: number): void {
  if (entry > 0) writeTag(out, entry);
  muteHead(out, entry, metaint);
}

/** An ID3v2.4 tag with nothing but padding, of `length` bytes (ID3v2.4 main structure, 3.1: the size is written in sevens of bits). */
function writeTag(out: Buffer, length: number): void {
  const size = length - TAG_HEAD_BYTES;
  out.fill(0, 0, length);
  out.write('ID3\x04', 0, 'latin1');
  for (let i = 0; i < 4; i++) out[6 + i] = (size >> (7 * (3 - i))) & 0x7f;
}

/** The first frames of MP3 may need bytes from before the entry. */
function muteHead(out: Buffer, entry: number, metaint: number): void {
  const reservoir = new Reservoir();
  reservoir.cut();
  const header = emptyHeader();
  let at = entry;
  while (!reservoir.isFull && metaint - at >= HEADER_BYTES && readHeader(out, at, header) && header.codec === 'mp3') {
    const frame = out.subarray(at, Math.min(at + header.lengthBytes, metaint));
    const mended = reservoir.mend(frame);
    if (mended !== frame) mended.copy(out, at);
    at += header.lengthBytes;
  }
}
