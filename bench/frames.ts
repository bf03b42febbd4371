/**
 * Walks the frames of one listener's audio (MPEG layers II and III, ADTS AAC) and counts the places where they do not join. It jumps from header
 * to header and never reads the bytes between, so that thousands of walks fit in one process. Each header must be where the previous frame ends,
 * with equal fixed fields; a leading partial frame and ID3v2 tags in a frame's place are allowed. After a break it searches for the next
 * confirmed frame, so that one fault (or one switch of sources) counts once. Owned by bench/reader.ts, one per listener.
 *
 *   seeking ──(a header and the two that follow it agree)──► walking ──(a header is not where it must be: break)──► seeking
 */

/** Enough for the length of a frame or an ID3v2 tag. */
const HEADER_BYTES = 6;
const TAG_HEADER_BYTES = 10;
/** Without a confirmed frame in this many bytes it is not known audio. More than three of the largest ADTS frames. */
const SEEK_BYTES = 65_536;

const LAYER_3 = 1;
const LAYER_2 = 2;
const VERSION_1 = 3;
const RATES = [11_025, 12_000, 8_000];
const KBITS: Record<string, readonly number[]> = {
  v1l3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  v1l2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  v2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};

/** Bytes of an MPEG audio frame by version (2 bits), layer (2), bitrate (4), sample rate (2) and padding (1); 0: not a frame. */
const MPEG_BYTES = new Uint16Array(2048).map((_, index) => {
  const [version, layer, bitrate, rate, padding] = [
    index >> 9,
    (index >> 7) & 3,
    (index >> 3) & 15,
    (index >> 1) & 3,
    index & 1,
  ];
  if (version === 1 || (layer !== LAYER_3 && layer !== LAYER_2) || bitrate === 0 || bitrate === 15 || rate === 3)
    return 0;
  const isVersion1 = version === VERSION_1;
  const kbits = KBITS[isVersion1 ? (layer === LAYER_3 ? 'v1l3' : 'v1l2') : 'v2']![bitrate]!;
  const hertz = RATES[rate]! * (isVersion1 ? 4 : version === 2 ? 2 : 1);
  const perFrame = layer === LAYER_3 && !isVersion1 ? 72 : 144;
  return Math.floor((perFrame * kbits * 1000) / hertz) + padding;
});

/** Length in bytes of the frame whose header is at `at`, or 0. Needs 6 bytes there. ISO/IEC 11172-3, 13818-7. */
function frameBytes(bytes: Uint8Array, at: number): number {
  const second = bytes[at + 1]!;
  if (bytes[at] !== 0xff || second < 0xe0) return 0;
  if ((second & 0xf6) !== 0xf0) return MPEG_BYTES[((second & 0x1e) << 6) | (bytes[at + 2]! >> 1)]!;
  const length = ((bytes[at + 3]! & 3) << 11) | (bytes[at + 4]! << 3) | (bytes[at + 5]! >> 5);
  return length > 7 ? length : 0;
}

/** The part of a header that is constant within a source: ADTS's fixed header; MPEG's version, layer, sample rate, and mono or not. */
function fixedFields(bytes: Uint8Array, at: number): number {
  const word = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
  if ((word & 0x00f6_0000) === 0x00f0_0000) return word & ~15;
  return (word & 0xfffe0c00) | ((word & 0xc0) === 0xc0 ? 1 : 0);
}

/** Length in bytes of the ID3v2 tag at `at`, or 0. Needs 10 bytes there once the first is an 'I'. */
function tagBytes(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== 0x49 || bytes[at + 1] !== 0x44 || bytes[at + 2] !== 0x33) return 0;
  return TAG_HEADER_BYTES + (bytes[at + 6]! << 21) + (bytes[at + 7]! << 14) + (bytes[at + 8]! << 7) + bytes[at + 9]!;
}

export class FrameWalk {
  /** Number of frames whose header was in its place. */
  frames = 0;
  /** Number of places where frames did not join, including a search without a result. */
  breaks = 0;
  /** Bytes of audio before the first frame (ID3v2 tags not counted); undefined until it is found. */
  leadBytes: number | undefined;

  /** Bytes to skip to the next header. At most one of this and the fields below is set. */
  #left = 0;
  /** The first bytes of a header that the end of a chunk divides. */
  #carry: Uint8Array | undefined;
  /** Bytes since the search began, and the part of them known to have no frame. */
  #window: Uint8Array | undefined;
  #scanned = 0;
  /** The fixed fields of the present source; undefined until the first frame, and during a search. */
  #fixed: number | undefined;
  #counted = false;

  /** Reads `chunk[from..to)`; keeps no reference to it. */
  feed(chunk: Uint8Array, from: number, to: number): void {
    if (this.#window) {
      this.#seek(chunk.subarray(from, to));
      return;
    }
    if (this.#carry) {
      const had = this.#carry.length;
      const joined = Buffer.concat([this.#carry, chunk.subarray(from, Math.min(to, from + TAG_HEADER_BYTES - had))]);
      if (joined.length < needed(joined, 0)) {
        this.#carry = joined;
        return;
      }
      this.#carry = undefined;
      const length = this.#next(joined, 0);
      if (length === 0) {
        this.#lose(Buffer.concat([joined.subarray(0, had), chunk.subarray(from, to)]));
        return;
      }
      this.#left = length - had;
    }
    this.#walk(chunk, from, to);
  }

  #walk(chunk: Uint8Array, from: number, to: number): void {
    let at = from + this.#left;
    while (at < to) {
      if (to - at < needed(chunk, at)) {
        this.#carry = new Uint8Array(chunk.subarray(at, to));
        this.#left = 0;
        return;
      }
      const length = this.#next(chunk, at);
      if (length === 0) {
        this.#lose(chunk.subarray(at, to));
        return;
      }
      at += length;
    }
    this.#left = at - to;
  }

  /** Length of the frame or tag that begins here, or 0 for neither. */
  #next(bytes: Uint8Array, at: number): number {
    const length = frameBytes(bytes, at);
    if (length === 0) return tagBytes(bytes, at);
    if (fixedFields(bytes, at) !== this.#fixed) return 0;
    this.frames++;
    return length;
  }

  #lose(rest: Uint8Array): void {
    this.#counted = this.#fixed !== undefined;
    if (this.#counted) this.breaks++;
    this.#fixed = undefined;
    this.#left = 0;
    this.#scanned = 0;
    this.#window = new Uint8Array(0);
    this.#seek(rest);
  }

  #seek(chunk: Uint8Array): void {
    const window = Buffer.concat([this.#window!, chunk]);
    let at = this.#scanned;
    for (; at + HEADER_BYTES <= window.length; at++) {
      const confirmed = isConfirmed(window, at);
      if (confirmed === undefined) break;
      if (!confirmed) continue;
      this.#window = undefined;
      this.#fixed = fixedFields(window, at);
      this.leadBytes ??= at;
      this.#walk(window, at, window.length);
      return;
    }
    this.#scanned = at;
    this.#window = window;
    if (window.length < SEEK_BYTES) return;
    if (!this.#counted) this.breaks++;
    this.#counted = true;
    this.#window = new Uint8Array(window.subarray(at));
    this.#scanned = 0;
  }
}

function needed(bytes: Uint8Array, at: number): number {
  return bytes[at] === 0x49 ? TAG_HEADER_BYTES : HEADER_BYTES;
}

/** Whether the header here and the next two agree, since one agrees by chance too often; undefined: more bytes are needed. */
function isConfirmed(bytes: Uint8Array, at: number): boolean | undefined {
  const fixed = fixedFields(bytes, at);
  let next = at;
  for (let follower = 0; follower <= 2; follower++) {
    if (next + HEADER_BYTES > bytes.length) return undefined;
    const length = frameBytes(bytes, next);
    if (length === 0 || fixedFields(bytes, next) !== fixed) return false;
    next += length;
  }
  return true;
}
