/** Makes ADTS frames, and reads the fill elements before a raw data block, independently of the code under test. */

import type { Random } from './random.js';

export interface AdtsOptions {
  readonly hasCrc?: boolean;
  readonly blocks?: number;
}

/** A frame whose block is random bytes that begin like a channel pair, so not with a fill element. */
export function adtsFrame(random: Random, blockBytes: number, { hasCrc = false, blocks = 1 }: AdtsOptions) {
  const block = random.bytes(blockBytes);
  block[0] = 0x20 | (block[0]! & 0x1f);
  const headBytes = hasCrc ? 9 : 7;
  const length = headBytes + blockBytes;
  const head = Buffer.alloc(headBytes);
  // LC, 44.1 kHz, two channels.
  head.set([0xff, hasCrc ? 0xf0 : 0xf1, 0x50, 0x80 | (length >> 11), (length >> 3) & 0xff, ((length & 7) << 5) | 0x1f]);
  head[6] = 0xfc | (blocks - 1);
  return { frame: Buffer.concat([head, block]), block };
}

export interface AdtsFacts {
  /** ISO 14496-3, table 1.18. */
  readonly rateIndex: number;
  /** Channel configuration. */
  readonly channels: number;
  /** 1: LC. */
  readonly profile?: number;
  /** Length of the whole frame. */
  readonly lengthBytes?: number;
}

/** The header of a frame without CRC. */
export function adtsHeader({ rateIndex, channels, profile = 1, lengthBytes = 7 }: AdtsFacts): Buffer {
  const head = Buffer.from([0xff, 0xf1, 0, 0, (lengthBytes >> 3) & 0xff, ((lengthBytes & 7) << 5) | 0x1f, 0xfc]);
  head[2] = (profile << 6) | (rateIndex << 2) | (channels >> 2);
  head[3] = ((channels & 3) << 6) | (lengthBytes >> 11);
  return head;
}

/** The raw data block of a frame without CRC, after its fill elements. Throws if they are invalid, or do not end at a byte boundary. */
export function readFilled(bytes: Buffer): { readonly lengthBytes: number; readonly block: Buffer } {
  if (bytes[0] !== 0xff || bytes[1] !== 0xf1)
    throw new Error(`no frame without CRC: ${bytes.subarray(0, 7).toString('hex')}`);
  const lengthBytes = (bytes.readUIntBE(3, 3) % 2 ** 18) >> 5;
  const bits = [...bytes.subarray(7, lengthBytes)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let at = 0;
  const read = (count: number) => Number.parseInt(bits.slice(at, (at += count)), 2);
  while (bits.startsWith('110', at)) {
    at += 3;
    let count = read(4);
    if (count === 15) count += read(8) - 1;
    for (let i = 0; i < count; i++) {
      const wanted = i === 0 ? 0x10 : 0xa5;
      if (read(8) !== wanted) throw new Error(`fill byte ${i} of ${count} is wrong`);
    }
  }
  if (at % 8 !== 0) throw new Error(`the fill elements end within a byte: ${at} bits`);
  return { lengthBytes, block: bytes.subarray(7 + at / 8, lengthBytes) };
}
