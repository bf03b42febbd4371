/**
 * Pages of an Ogg stream (RFC 3533, section 6), read and written.
 *
 *   "OggS" │ 0 │ flags │ granule position │ serial │ sequence │ CRC │ n │ n lacing values │ up to 255 × 255 bytes
 *    4       1   1       8                  4        4          4     1                      everything little-endian
 *
 * A packet is cut into pieces of 255 bytes and a shorter last one, so a lacing value under 255 ends it. Our pages hold whole packets only, unless a
 * packet is larger than a page. Pure but for PageWriter, which is owned by the tape.
 */

export const PAGE_HEADER_BYTES = 27;
export const MAX_LACINGS = 255;
const PIECE_BYTES = 255;
export const MAX_PAGE_BYTES = PAGE_HEADER_BYTES + MAX_LACINGS + MAX_LACINGS * PIECE_BYTES;

export const CONTINUED = 1;
export const FIRST = 2;
export const LAST = 4;

const CAPTURE = 0x4f676753; // "OggS"
/** Limits of a page from another process, position and number: the stream continues to count from there. */
const [MAX_GRANULE, MAX_PAGE] = [2 ** 52, 2 ** 31];
const CRC_AT = 22;
const UINT32 = 0x1_0000_0000;
/** The change of bytes 6 to 21 of a page, from its position to its number; written and read at once. */
const CHANGE = Buffer.alloc(16);

/** CRC-32 with this polynomial, not reflected, from 0 (RFC 3533, section 6, field 7). */
const POLYNOMIAL = 0x04c11db7;
const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24;
  for (let bit = 0; bit < 8; bit++) crc = crc < 0 ? (crc << 1) ^ POLYNOMIAL : crc << 1;
  return crc;
});

function crcOver(bytes: Buffer, from: number, to: number, before: number): number {
  let crc = before;
  for (let at = from; at < to; at++) crc = (crc << 8) ^ CRC_TABLE[(crc >>> 24) ^ bytes[at]!]!;
  return crc;
}

/** The CRC of the page in bytes[at, end), with its own CRC field read as 0. */
export function pageCrc(bytes: Buffer, at: number, end: number): number {
  let crc = crcOver(bytes, at, at + CRC_AT, 0);
  for (let i = 0; i < 4; i++) crc = (crc << 8) ^ CRC_TABLE[crc >>> 24]!;
  return crcOver(bytes, at + CRC_AT + 4, end, crc) >>> 0;
}

/** The factors by which 1, 2, 4 … bytes of 0 multiply the CRC before them: x^8, x^16, x^32 … modulo the polynomial; up to the largest page. */
const ZEROS = new Int32Array(16);
ZEROS[0] = 1 << 8;
for (let i = 1; i < ZEROS.length; i++) ZEROS[i] = product(ZEROS[i - 1]!, ZEROS[i - 1]!);

/** The product of two polynomials over GF(2), modulo the CRC's. */
function product(a: number, b: number): number {
  let sum = 0;
  for (let bit = 31; bit >= 0; bit--) {
    sum = sum < 0 ? (sum << 1) ^ POLYNOMIAL : sum << 1;
    if ((b >>> bit) & 1) sum ^= a;
  }
  return sum;
}

/** The CRC of the same bytes followed by `zeros` bytes of 0. */
function crcBeforeZeros(crc: number, zeros: number): number {
  let moved = crc;
  for (let i = 0; zeros >> i > 0; i++) if ((zeros >> i) & 1) moved = product(moved, ZEROS[i]!);
  return moved;
}

/** The length of a page's header, with its lacing values. */
export function headerBytes(bytes: Buffer, at: number): number {
  return PAGE_HEADER_BYTES + bytes[at + 26]!;
}

/**
 * Moves a page back in its stream by changing its header in place. A CRC is linear: that of the change is added (xor), whatever the page's length.
 * @param header with the lacing values @param granules at most its position, if a packet ends in it @param pages at most its number
 * @returns the page's bytes
 */
export function moveBack(header: Buffer, granules: number, pages: number): number {
  const length = pageBytes(header, 0, header.length);
  const [low, high, sequence] = [header.readUInt32LE(6), header.readInt32LE(10), header.readUInt32LE(18)];
  if (high >= 0) {
    const granule = high * UINT32 + low - granules;
    header.writeUInt32LE(granule % UINT32, 6);
    header.writeInt32LE(Math.floor(granule / UINT32), 10);
  }
  header.writeUInt32LE(sequence - pages, 18);
  CHANGE.writeInt32LE(low ^ header.readInt32LE(6), 0);
  CHANGE.writeInt32LE(high ^ header.readInt32LE(10), 4);
  CHANGE.writeInt32LE(sequence ^ header.readInt32LE(18), 12);
  const crc = crcBeforeZeros(crcOver(CHANGE, 0, CHANGE.length, 0), length - CRC_AT);
  header.writeInt32LE(header.readInt32LE(CRC_AT) ^ crc, CRC_AT);
  return length;
}

/**
 * The number of pages, if these bytes are whole pages from which a stream can continue to count; else null. Their CRCs are not checked.
 * @param least the lowest position and number: pages may be moved back that far
 */
export function pagesIn(bytes: Buffer, least = { granule: 0, page: 0 }): number | null {
  if (!Number.isSafeInteger(least.granule) || least.page < 0) return null;
  let count = 0;
  for (let at = 0; at < bytes.length; count++) {
    const there = bytes.length - at;
    if (there < PAGE_HEADER_BYTES || !isPage(bytes, at)) return null;
    const length = pageBytes(bytes, at, there);
    if (length > there) return null;
    const [low, high] = [bytes.readUInt32LE(at + 6), bytes.readInt32LE(at + 10)];
    const [granule, page] = [high * UINT32 + low, bytes.readUInt32LE(at + 18)];
    if (high >= 0 && (granule < least.granule || granule > MAX_GRANULE)) return null;
    if (page < least.page || page > MAX_PAGE) return null;
    at += length;
  }
  return count;
}

/** The beginning of a page, of the only version. */
export const PAGE_START = Buffer.from('OggS\0', 'latin1');

/** Whether these PAGE_HEADER_BYTES begin a page. */
export function isPage(bytes: Buffer, at: number): boolean {
  return bytes.readUInt32BE(at) === CAPTURE && bytes[at + 4] === 0;
}

/** A page; lacing values and body are views of it. */
export interface OggPage {
  readonly flags: number;
  /** Position behind the last packet that ends here; -1: none does. Beyond 2^53 it is not exact; no stream plays that long. */
  readonly granule: number;
  readonly serial: number;
  readonly sequence: number;
  readonly lacings: Buffer;
  readonly body: Buffer;
}

/** How many bytes the page at `at` needs, as far as the bytes present show it. @param there how many are present, PAGE_HEADER_BYTES at least */
export function pageBytes(bytes: Buffer, at: number, there: number): number {
  const lacings = bytes[at + 26]!;
  let needed = PAGE_HEADER_BYTES + lacings;
  if (there < needed) return needed;
  for (let i = at + PAGE_HEADER_BYTES, end = i + lacings; i < end; i++) needed += bytes[i]!;
  return needed;
}

/** The whole page in `bytes`, as views; null: its CRC is wrong. */
export function readPage(bytes: Buffer): OggPage | null {
  if (pageCrc(bytes, 0, bytes.length) !== bytes.readUInt32LE(CRC_AT)) return null;
  const bodyAt = headerBytes(bytes, 0);
  return {
    flags: bytes[5]!,
    granule: bytes.readInt32LE(10) * UINT32 + bytes.readUInt32LE(6),
    serial: bytes.readUInt32LE(14),
    sequence: bytes.readUInt32LE(18),
    lacings: bytes.subarray(PAGE_HEADER_BYTES, bodyAt),
    body: bytes.subarray(bodyAt),
  };
}

/** A page is full for libogg's `ogg_stream_pageout` at the end of a packet, with more than these bytes and at least these packets. */
const FULL_BYTES = 4096;
const FULL_PACKETS = 4;

/**
 * Whether the page ended because it was full, as libogg does it (Liquidsoap, MPD, DarkIce, Mixxx), and not after some time: then the time that the
 * next page takes is unknown, since it may hold 255 packets of silence.
 */
export function isFilled(lacings: Uint8Array): boolean {
  let [bytes, packets] = [0, 0];
  for (let i = 0; i < lacings.length; i++) {
    bytes += lacings[i]!;
    if (lacings[i] === PIECE_BYTES) continue;
    if (++packets >= FULL_PACKETS && bytes > FULL_BYTES) return i === lacings.length - 1;
  }
  return lacings.length === MAX_LACINGS;
}

/** Writes packets into the pages of one logical stream. */
export class PageWriter {
  readonly #serial: number;
  #sequence: number;
  #flags: number;
  #granule = -1;
  readonly #lacings = Buffer.alloc(MAX_LACINGS);
  #count = 0;
  readonly #body = Buffer.alloc(MAX_LACINGS * PIECE_BYTES);
  #bodyBytes = 0;
  #out = Buffer.alloc(16 * 1024);
  #outBytes = 0;

  /** @param flags of the first page: FIRST if a stream begins */
  constructor(serial: number, sequence: number, flags: number) {
    this.#serial = serial;
    this.#sequence = sequence;
    this.#flags = flags;
  }

  /** The number of the next page. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Bytes waiting to be taken, whether their page has ended or not. */
  get bytes(): number {
    return this.#outBytes + this.#bodyBytes;
  }

  /** A whole packet. @param granule the stream's position behind it */
  packet(bytes: Buffer, granule: number): void {
    const lacings = Math.floor(bytes.length / PIECE_BYTES) + 1;
    if (this.#count + lacings > MAX_LACINGS) this.end();
    let at = 0;
    for (let i = 0; i < lacings; i++) {
      if (this.#count === MAX_LACINGS) {
        this.end();
        this.#flags |= CONTINUED;
      }
      const n = Math.min(PIECE_BYTES, bytes.length - at);
      bytes.copy(this.#body, this.#bodyBytes, at, at + n);
      this.#lacings[this.#count++] = n;
      this.#bodyBytes += n;
      at += n;
    }
    this.#granule = granule;
  }

  /** Ends the page, if it has anything. */
  end(): void {
    if (this.#count > 0) this.#end(0);
  }

  /** Ends the stream, with an empty page if none is open. @param granule the position of an empty page */
  finish(granule: number): void {
    if (this.#count === 0) this.#granule = granule;
    this.#end(LAST);
  }

  #end(flags: number): void {
    const bytes = PAGE_HEADER_BYTES + this.#count + this.#bodyBytes;
    this.#reserve(bytes);
    const [out, at] = [this.#out, this.#outBytes];
    out.writeUInt32BE(CAPTURE, at);
    out[at + 4] = 0;
    out[at + 5] = this.#flags | flags;
    out.writeUInt32LE(this.#granule < 0 ? UINT32 - 1 : this.#granule % UINT32, at + 6);
    out.writeInt32LE(this.#granule < 0 ? -1 : Math.floor(this.#granule / UINT32), at + 10);
    out.writeUInt32LE(this.#serial, at + 14);
    out.writeUInt32LE(this.#sequence, at + 18);
    out[at + 26] = this.#count;
    this.#lacings.copy(out, at + PAGE_HEADER_BYTES, 0, this.#count);
    this.#body.copy(out, at + PAGE_HEADER_BYTES + this.#count, 0, this.#bodyBytes);
    out.writeUInt32LE(pageCrc(out, at, at + bytes), at + CRC_AT);
    this.#outBytes += bytes;
    this.#sequence = (this.#sequence + 1) >>> 0;
    this.#flags = 0;
    this.#granule = -1;
    this.#count = 0;
    this.#bodyBytes = 0;
  }

  /** All pages that have ended, in a new buffer. */
  take(): Buffer {
    const taken = Buffer.allocUnsafeSlow(this.#outBytes);
    this.#out.copy(taken, 0, 0, this.#outBytes);
    this.#outBytes = 0;
    return taken;
  }

  #reserve(bytes: number): void {
    const needed = this.#outBytes + bytes;
    if (needed <= this.#out.length) return;
    const bigger = Buffer.alloc(Math.max(needed, this.#out.length * 2));
    this.#out.copy(bigger, 0, 0, this.#outBytes);
    this.#out = bigger;
  }
}
