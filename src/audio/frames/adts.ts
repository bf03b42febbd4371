/**
 * Makes an ADTS frame longer without changing its sound: fill elements go in front of its raw data block (ISO 13818-7, 6.3 and 8.7).
 * A fill element has 7 bits and up to 14 bytes, or 15 bits and 14 to 269 bytes: eight of them end at a byte again, so what follows is
 * copied as it is.
 *
 *   frame       │ header │ CRC? │ raw data block │
 *   stretched   │ header │ FIL × 8 k ……………………………… │ raw data block │     no CRC: it covers the header
 *
 * Pure. Why frames are stretched: entry.ts.
 */

import { emptyHeader, MAX_FRAME_BYTES, readHeader } from './header.js';
import { hasCrcs, wholePceBytes, writeLength } from './program-config.js';

/** The longest header of a frame, with its CRC. */
export const ADTS_HEADER_BYTES = 9;
const HEADER_BYTES = 7;
const CRC_BYTES = 2;
/** A group of eight fill elements: the bytes of their headers (8 × 7 bits), and the most that each element adds. */
const HEADERS_BYTES = 7;
const MAX_FILL_BYTES = 270;
const GROUP = 8;

const FILL_ELEMENT = 0b110;
const ESCAPE = 15;
/** EXT_FILL_DATA with its nibble of 0, and the bytes behind it. */
const FILL_DATA = 0x10;
const FILL_BYTE = 0xa5;

/**
 * Whether an ADTS frame can be made longer by `byBytes` bytes: there is room for eight fill elements, and its header can still state
 * its length. A frame of several blocks with a CRC each, which no encoder sends, cannot.
 * @param frame the whole frame
 */
export function canStretch(frame: Buffer, byBytes: number): boolean {
  return byBytes >= HEADERS_BYTES && frame.length + byBytes <= MAX_FRAME_BYTES && !hasCrcs(frame);
}

/**
 * Makes the frame that begins at `from` begin at 0; it ends where it did.
 * @param out changed in place, up to the frame's raw data block, and a PCE in it; what follows the frame's header need not be there
 * @param from a number of bytes that `canStretch` allows
 */
export function stretchFrame(out: Buffer, from: number): void {
  const hasCrc = (out[from + 1]! & 1) === 0;
  const header = emptyHeader();
  readHeader(out, from, header);
  const lengthBytes = from + header.lengthBytes;
  out.copyWithin(0, from, from + HEADER_BYTES);
  out[1]! |= 1;
  writeLength(out, lengthBytes);
  // The PCE, which names its channels, stays the first element.
  const bodyAt = from + HEADER_BYTES + (hasCrc ? CRC_BYTES : 0);
  const pceBytes = header.channels === 0 ? wholePceBytes(out.subarray(bodyAt)) : 0;
  out.copyWithin(HEADER_BYTES, bodyAt, bodyAt + pceBytes);
  fill(out, HEADER_BYTES + pceBytes, bodyAt - HEADER_BYTES);
}

/** Writes fill elements of `bytes` bytes in total. */
function fill(out: Buffer, from: number, bytes: number): void {
  const groups = Math.ceil(bytes / (HEADERS_BYTES + GROUP * MAX_FILL_BYTES));
  out.fill(0, from, from + bytes);
  let left = bytes - groups * HEADERS_BYTES;
  let bit = from * 8;
  const write = (value: number, bits: number) => {
    for (let i = bits - 1; i >= 0; i--, bit++) out[bit >> 3]! |= ((value >> i) & 1) << (7 - (bit & 7));
  };
  for (let i = 0; i < groups * GROUP; i++) {
    const added = Math.min(MAX_FILL_BYTES, left);
    left -= added;
    write(FILL_ELEMENT, 3);
    write(Math.min(added, ESCAPE), 4);
    // The escape is a byte of its own, and counts one more than it says.
    if (added >= ESCAPE) write(added - ESCAPE, 8);
    const payload = added >= ESCAPE ? added - 1 : added;
    for (let n = 0; n < payload; n++) write(n === 0 ? FILL_DATA : FILL_BYTE, 8);
  }
}
