/**
 * AAC of channel configuration 0 names its channels in a program_config_element, PCE (ISO 13818-7, 8.5), the first element of a raw data block.
 * ffmpeg sends one with its first frame only (5.1 with side speakers, some 7.1), so a decoder that joins later could play nothing. Therefore each
 * frame without one gets the latest: 9 bytes in 5.1.
 *
 *   frame │ header │ CRC? │ elements …│          mended │ header │ PCE │ elements …│     no CRC: it covers the header
 *
 * A PCE ends at a byte boundary, so what follows is copied as it is. Owned by a framer.
 */

import { MAX_FRAME_BYTES } from './header.js';

const HEADER_BYTES = 7;
const CRC_BYTES = 2;
const PCE = 0b101;
/** A PCE of the maximum number of elements, without its comment. */
export const MAX_PCE_BYTES = 50;
const NONE = Buffer.alloc(0);
/** The length byte of an empty comment. */
const NO_COMMENT = Buffer.of(0);

export class ProgramConfig {
  /** The latest, with an empty comment; empty: there was none. */
  pce: Buffer = NONE;
  #out = NONE;

  /** @param frame a whole frame of channel configuration 0 @returns it, or a buffer that is valid until the next call */
  mend(frame: Buffer): Buffer {
    const at = bodyAt(frame);
    const ownBytes = pceBytes(frame.subarray(at));
    if (ownBytes > 0) {
      const isKnown = this.pce.length === ownBytes + 1 && frame.compare(this.pce, 0, ownBytes, at, at + ownBytes) === 0;
      if (!isKnown) this.pce = Buffer.concat([frame.subarray(at, at + ownBytes), NO_COMMENT]);
      return frame;
    }
    const more = HEADER_BYTES + this.pce.length - at;
    if (this.pce.length === 0 || frame.length + more > MAX_FRAME_BYTES || hasCrcs(frame)) return frame;
    if (this.#out.length === 0) this.#out = Buffer.alloc(MAX_FRAME_BYTES);
    const out = this.#out.subarray(0, frame.length + more);
    frame.copy(out, 0, 0, HEADER_BYTES);
    this.pce.copy(out, HEADER_BYTES);
    frame.copy(out, at + more, at);
    out[1]! |= 1;
    writeLength(out, out.length);
    return out;
  }
}

/** Whether a frame has several blocks with a CRC each; no encoder sends any. */
export function hasCrcs(frame: Buffer): boolean {
  return (frame[1]! & 1) === 0 && (frame[6]! & 3) > 0;
}

/** Writes a length into an ADTS header, and a buffer fullness of all ones: variable rate. */
export function writeLength(header: Buffer, bytes: number): void {
  header[3] = (header[3]! & 0xfc) | (bytes >> 11);
  header[4] = bytes >> 3;
  header[5] = (bytes << 5) | 0x1f;
  header[6]! |= 0xfc;
}

/** Whether an ADTS frame names its channels in a PCE. */
export function namesChannels(frame: Buffer): boolean {
  return pceBytes(frame.subarray(bodyAt(frame))) > 0;
}

/** The length of the PCE at the beginning of a raw data block; 0: there is none, or it is incomplete. */
export function wholePceBytes(body: Buffer): number {
  const bytes = pceBytes(body);
  return bytes === 0 ? 0 : bytes + 1 + body[bytes]!;
}

function bodyAt(frame: Buffer): number {
  return HEADER_BYTES + ((frame[1]! & 1) === 0 ? CRC_BYTES : 0);
}

/** The same, up to the length of its comment. */
function pceBytes(body: Buffer): number {
  let bit = 0;
  const read = (bits: number) => {
    let value = 0;
    for (let i = 0; i < bits; i++, bit++) value = value * 2 + ((body[bit >> 3]! >> (7 - (bit & 7))) & 1);
    return value;
  };
  if (body.length === 0 || read(3) !== PCE) return 0;
  bit += 4 + 2 + 4; // instance, profile, sample rate
  const [front, side, back, lfe, data, coupled] = [read(4), read(4), read(4), read(2), read(3), read(4)];
  for (const mixdownBits of [4, 4, 3]) read(read(1) * mixdownBits);
  bit += 5 * (front + side + back + coupled) + 4 * (lfe + data);
  const bytes = Math.ceil(bit / 8);
  return bytes < body.length && bytes + 1 + body[bytes]! <= body.length ? bytes : 0;
}
