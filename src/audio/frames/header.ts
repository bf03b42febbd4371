/**
 * What can stand between two frames of a stream: the header of the next frame (MPEG audio layers I-III, ADTS AAC), a tag
 * (ID3v2, ID3v1, APE), or an MP3 frame with facts about its file in place of sound (Xing, Info, VBRI).
 *
 * Pure functions that read only the bytes stated and allocate nothing: a header is read into an object of the caller. The Framer walks the
 * stream (framer.ts).
 */

/** MP2: layer II of MPEG audio, or I. Browsers play layer III alone. */
export type Codec = 'mp3' | 'mp2' | 'aac';

/** Bytes that `readHeader` needs. No frame and no tag is shorter. */
export const HEADER_BYTES = 7;
/** Bytes that `tagBytes` needs: an APE tag's header, the longest. */
export const APE_HEADER_BYTES = 32;
/** The largest frame: ADTS counts its length in 13 bits. The largest of MPEG audio has 2,881 bytes (layer II, 160 kb/s, 8 kHz). */
export const MAX_FRAME_BYTES = 8191;
/** The largest tag accepted: the maximum of an ID3v2 length (four times seven bits), with header and footer. */
const MAX_TAG_BYTES = 0x0fffffff + 20;

/** The header of one frame; reused, so copy what must last. */
export interface FrameHeader {
  codec: Codec;
  /** The whole frame, header included. */
  lengthBytes: number;
  /** Samples per channel that the frame plays. */
  samples: number;
  sampleRate: number;
  /** 0 when an AAC stream describes its channels elsewhere. */
  channels: number;
  /** kb/s; 0 for AAC, which does not say. */
  bitrateKbps: number;
  /** Equal for two frames of one stream: sync, version, layer, sample rate, mono or not; for AAC also profile and channels. */
  key: number;
}

export function emptyHeader(): FrameHeader {
  return { codec: 'mp3', lengthBytes: 0, samples: 0, sampleRate: 0, channels: 0, bitrateKbps: 0, key: 0 };
}

// ISO 11172-3 2.4.2.3 and ISO 13818-3 2.4.2.3, kb/s by bitrate index; 0 = free format, which is rejected: its length is not stated.
const V1_L1 = [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448];
const V1_L2 = [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384];
const V1_L3 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const V2_L1 = [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256];
const V2_L23 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const V1_RATES = [44100, 48000, 32000];
/** ISO 14496-3 table 1.18 (sampling frequency index). */
const AAC_RATES = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350];

/** Whether the frame that begins at `at` is ADTS; else it is MPEG audio. */
export function isAdts(bytes: Buffer, at: number): boolean {
  return bytes[at] === 0xff && (bytes[at + 1]! & 0xf6) === 0xf0;
}

/** Reads the header at `at` (HEADER_BYTES must be there) into `header`; false: there is none, and `header` has no meaning. */
export function readHeader(bytes: Buffer, at: number, header: FrameHeader): boolean {
  if (isAdts(bytes, at)) return readAdts(bytes, at, header);
  return bytes[at] === 0xff && (bytes[at + 1]! & 0xe0) === 0xe0 && readMpeg(bytes, at, header);
}

function readMpeg(bytes: Buffer, at: number, header: FrameHeader): boolean {
  const second = bytes[at + 1]!;
  const third = bytes[at + 2]!;
  const fourth = bytes[at + 3]!;
  const version = (second >> 3) & 3; // 3 = MPEG 1, 2 = MPEG 2, 0 = MPEG 2.5
  const layer = 4 - ((second >> 1) & 3); // 4 = reserved
  if (version === 1 || layer === 4 || (fourth & 3) === 2) return false;
  const first = version === 3;
  const table = first ? (layer === 1 ? V1_L1 : layer === 2 ? V1_L2 : V1_L3) : layer === 1 ? V2_L1 : V2_L23;
  const bitrateKbps = table[third >> 4] ?? 0;
  const rate = V1_RATES[(third >> 2) & 3];
  if (bitrateKbps === 0 || rate === undefined) return false;
  const sampleRate = first ? rate : version === 2 ? rate / 2 : rate / 4;
  const padding = (third >> 1) & 1;
  const mono = fourth >> 6 === 3;
  header.codec = layer === 3 ? 'mp3' : 'mp2';
  header.samples = layer === 1 ? 384 : layer === 3 && !first ? 576 : 1152;
  header.lengthBytes =
    layer === 1
      ? (Math.floor((12_000 * bitrateKbps) / sampleRate) + padding) * 4
      : Math.floor((header.samples * 125 * bitrateKbps) / sampleRate) + padding;
  header.sampleRate = sampleRate;
  header.channels = mono ? 1 : 2;
  header.bitrateKbps = bitrateKbps;
  header.key = ((second & 0xfe) << 16) | ((third & 0x0c) << 8) | (mono ? 1 : 0);
  return true;
}

/** ADTS: ISO 13818-7 6.2, with or without CRC, one to four raw data blocks of 1,024 samples. */
function readAdts(bytes: Buffer, at: number, header: FrameHeader): boolean {
  const second = bytes[at + 1]!;
  const third = bytes[at + 2]!;
  const fourth = bytes[at + 3]!;
  const sampleRate = AAC_RATES[(third >> 2) & 15];
  const lengthBytes = ((fourth & 3) << 11) | (bytes[at + 4]! << 3) | (bytes[at + 5]! >> 5);
  if (sampleRate === undefined || lengthBytes <= (second & 1 ? 7 : 9)) return false;
  const channels = ((third & 1) << 2) | (fourth >> 6);
  header.codec = 'aac';
  header.lengthBytes = lengthBytes;
  header.samples = 1024 * ((bytes[at + 6]! & 3) + 1);
  header.sampleRate = sampleRate;
  header.channels = channels === 7 ? 8 : channels;
  header.bitrateKbps = 0;
  header.key = ((second & 0xfe) << 16) | ((third & 0xfd) << 8) | (fourth & 0xc0);
  return true;
}

/** Whether the sync of another frame is visible behind the whole frame at `at`. */
export function isFollowed(bytes: Buffer, at: number, end: number, { lengthBytes }: FrameHeader): boolean {
  const next = at + lengthBytes;
  return next + 2 <= end && bytes[next] === 0xff && ((bytes[next + 1]! ^ bytes[at + 1]!) & 0xfe) === 0;
}

const XING = 0x58696e67;
const INFO = 0x496e666f;
const VBRI = 0x56425249;

/**
 * Whether the whole MP3 frame at `at` is a Xing, Info or VBRI frame, which plays as silence and states a false length for a stream.
 * @param isFirst whether a file may begin here; elsewhere sound may contain the word, so the side information must be empty, as in such frames
 */
export function isInfoFrame(bytes: Buffer, at: number, header: FrameHeader, isFirst: boolean): boolean {
  const second = bytes[at + 1]!;
  if (header.codec !== 'mp3') return false;
  if (!isFirst && !isEmptySide(bytes, at + ((second & 1) === 0 ? 6 : 4))) return false;
  const mpeg1 = (second & 8) !== 0;
  const mono = header.channels === 1;
  // Behind the side information, whose size follows from version and channels. Writers differ on whether a CRC's 2 bytes count.
  const behind = 4 + (mpeg1 ? (mono ? 17 : 32) : mono ? 9 : 17);
  if (isWord(bytes, at, header, behind, XING) || isWord(bytes, at, header, behind, INFO)) return true;
  if ((second & 1) === 0 && isWord(bytes, at, header, behind + 2, XING)) return true;
  if ((second & 1) === 0 && isWord(bytes, at, header, behind + 2, INFO)) return true;
  return isWord(bytes, at, header, 36, VBRI);
}

/** Checks 9 bytes, the shortest side information; every frame is longer. */
function isEmptySide(bytes: Buffer, at: number): boolean {
  return bytes.readUInt32BE(at) === 0 && bytes.readUInt32BE(at + 4) === 0 && bytes[at + 8] === 0;
}

function isWord(bytes: Buffer, at: number, header: FrameHeader, offset: number, word: number): boolean {
  return offset + 4 <= header.lengthBytes && bytes.readUInt32BE(at + offset) === word;
}

/** Whether these HEADER_BYTES begin like a tag, so that APE_HEADER_BYTES are worth waiting for. */
export function mayBeTag(bytes: Buffer, at: number): boolean {
  const word = bytes.readUIntBE(at, 3);
  return word === 0x494433 || word === 0x544147 || word === 0x415045; // "ID3", "TAG", "APE"
}

/**
 * The length of the tag at `at` (APE_HEADER_BYTES must be there); 0: none. Strict, since a false tag would swallow megabytes of audio.
 * The three letters of ID3v1 prove little: they count only at a `boundary`, straight behind a frame.
 */
export function tagBytes(bytes: Buffer, at: number, boundary: boolean): number {
  const word = bytes.readUIntBE(at, 3);
  if (word === 0x544147) return boundary ? 128 : 0;
  if (word === 0x494433) return id3v2Bytes(bytes, at);
  return word === 0x415045 ? apeBytes(bytes, at) : 0;
}

/** ID3v2.2 to 2.4: major version, revision 0, flags in the upper half, length as four times seven bits, perhaps a footer. */
function id3v2Bytes(bytes: Buffer, at: number): number {
  const major = bytes[at + 3]!;
  const flags = bytes[at + 5]!;
  if (major < 2 || major > 4 || bytes[at + 4] !== 0 || (flags & 0x0f) !== 0) return 0;
  const length = bytes.readUInt32BE(at + 6);
  if ((length & 0x80808080) !== 0) return 0;
  const body =
    ((length >> 24) << 21) | (((length >> 16) & 0x7f) << 14) | (((length >> 8) & 0x7f) << 7) | (length & 0x7f);
  return 10 + body + (major === 4 && (flags & 0x10) !== 0 ? 10 : 0);
}

/** APE v2 with a header in front; of a tag that has only a footer, the footer alone (its items then count as skipped). */
function apeBytes(bytes: Buffer, at: number): number {
  const version = bytes.readUInt32LE(at + 8);
  if (bytes.toString('latin1', at, at + 8) !== 'APETAGEX' || (version !== 1000 && version !== 2000)) return 0;
  const isHead = (bytes.readUInt32LE(at + 20) & 0x20000000) !== 0;
  return isHead ? Math.min(32 + bytes.readUInt32LE(at + 12), MAX_TAG_BYTES) : 32;
}
