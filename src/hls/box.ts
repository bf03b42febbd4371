/** Boxes of MP4 files (ISO 14496-12, 4.2): size, type of four letters, content. Numbers are big-endian. Pure. */

const HEADER_BYTES = 8;

export function box(type: string, ...parts: readonly Buffer[]): Buffer {
  const header = boxHeader(
    type,
    parts.reduce((sum, { length }) => sum + length, 0),
  );
  return Buffer.concat([header, ...parts]);
}

/** Returns the header of a box whose content the caller writes. @param bytes the content's length */
export function boxHeader(type: string, bytes: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(HEADER_BYTES + bytes);
  header.write(type, 4, 'latin1');
  return header;
}

/** Returns a box with a version and flags. */
export function fullBox(type: string, version: number, flags: number, ...parts: readonly Buffer[]): Buffer {
  return box(type, u32(version * 0x100_0000 + flags), ...parts);
}

export function u16(...values: readonly number[]): Buffer {
  const out = Buffer.alloc(2 * values.length);
  for (const [i, value] of values.entries()) out.writeUInt16BE(value, 2 * i);
  return out;
}

export function u32(...values: readonly number[]): Buffer {
  const out = Buffer.alloc(4 * values.length);
  for (const [i, value] of values.entries()) out.writeUInt32BE(value, 4 * i);
  return out;
}

/** @param value a whole number up to 2^53 */
export function u64(value: number): Buffer {
  const out = Buffer.alloc(8);
  out.writeBigUInt64BE(BigInt(value));
  return out;
}
