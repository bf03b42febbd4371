/**
 * Identifies a stream that has no frames of a known codec by its first bytes: a name for the log, and advice for the operator who has set up the
 * encoder. Most formats are certain at once. Pictures and texts may precede audio, so they count only if no audio follows.
 */

import { APE_HEADER_BYTES, mayBeTag, tagBytes } from '../audio/frames/header.js';
import { readIdentification } from '../audio/ogg/ogg-codec.js';
import { FIRST, headerBytes, isPage, PAGE_HEADER_BYTES, pageBytes } from '../audio/ogg/ogg-page.js';

/** A format that is not played here. */
export interface Foreign {
  readonly name: string;
  readonly advice: string;
}

/** Enough for every row: a few frames or packets. */
export const BEGINNING_BYTES = 4096;
/** Searched bytes, in which junk may precede the format. */
const JUNK_BYTES = 1024;
/** A stream is inspected once this many bytes have arrived, and each time that their number has doubled. */
const FIRST_LOOK_BYTES = 32;

const ADTS = 'send AAC with ADTS headers';
const BY_ITSELF = 'send its MP3 or AAC (ADTS) without the container';
const ENCODE = 'choose MP3, AAC (ADTS) or Ogg in the encoder';

type KnownStart = readonly [at: number, magic: string, name: string, advice: string];

/** An offset, and the bytes there, in Latin-1. */
const CERTAIN: readonly KnownStart[] = [
  [0, 'fLaC', 'FLAC without Ogg', 'send FLAC in Ogg'],
  [8, 'AIFF', 'AIFF', ENCODE],
  [8, 'AIFC', 'AIFF', ENCODE],
  [0, 'caff', 'CAF', ENCODE],
  [0, 'wvpk', 'WavPack', ENCODE],
  [0, '#!AMR', 'AMR', ENCODE],
  [0, '\x1a\x45\xdf\xa3', 'WebM or Matroska', 'send its Opus or Vorbis in Ogg'],
  ...['ftyp', 'styp', 'moof', 'moov'].map((box): KnownStart => [4, box, 'MP4', ADTS]),
  [0, 'FLV\x01', 'FLV', BY_ITSELF],
  [0, 'ADIF', 'AAC without ADTS headers', ADTS],
  [0, '\x30\x26\xb2\x75\x8e\x66\xcf\x11', 'Windows Media', ENCODE],
  [0, 'NSVf', 'NSV', BY_ITSELF],
  [0, 'NSVs', 'NSV', BY_ITSELF],
  [0, '\0\0\x01\xba', 'MPEG-PS', BY_ITSELF],
  [0, '\x7f\xfe\x80\x01', 'DTS', ENCODE],
  [0, 'Z\0\x10', 'SHOUTcast 2 (uvox)', 'choose SHOUTcast 1 or Icecast in the encoder'],
  [0, '#EXTM3U', 'an HLS playlist', 'send the audio itself: playlists are not followed here'],
];
const LIKELY: readonly KnownStart[] = [
  [0, 'OggS', 'Ogg', 'its header pages are missing, or it contains neither Vorbis, Opus nor FLAC'],
  [8, 'WAVE', 'WAV', ENCODE],
  [0, 'RIFF', 'RIFF', ENCODE],
  [0, '\x0b\x77', 'AC-3', ENCODE],
  [0, '\x89PNG', 'a PNG image', 'send audio'],
  [0, '\xff\xd8\xff', 'a JPEG image', 'send audio'],
  [0, '\x47', 'perhaps MPEG-TS', BY_ITSELF],
  [0, '<', 'text', 'send audio'],
  [0, '[playlist]', 'a playlist', 'send the audio itself: playlists are not followed here'],
];

/** A format that no row knows. */
export const UNKNOWN: Foreign = { name: 'unknown', advice: ENCODE };

/** Bytes beside known audio that no row knows. */
export const DAMAGED: Foreign = { name: 'unknown', advice: 'damaged' };

/** Advice for an operator. @param who sends it @param isMost there is playable audio, too */
export function foreignSentence({ name, advice }: Foreign, who: string, isMost = false): string {
  const what = name === UNKNOWN.name ? '' : ` (${name})`;
  return `no MP3, AAC or Ogg audio in ${isMost ? 'most of ' : ''}what ${who} sends${what}: ${advice}`;
}

/** @param first of a file or stream, with or without tags before it; "unknown": by no row */
export function nameOfFormat(first: Buffer): string {
  const beginning = new Beginning();
  beginning.push(first);
  return beginning.whole().name;
}

/** The first bytes of one stream, behind its tags, in whatever pieces they come. */
export class Beginning {
  readonly #bytes = Buffer.alloc(BEGINNING_BYTES);
  #length = 0;
  #tagLeftBytes = 0;
  #lookAtBytes = FIRST_LOOK_BYTES;

  /** @returns a format that is certainly not played here; null: it may be */
  push(piece: Buffer): Foreign | null {
    for (let at = 0; at < piece.length && this.#length < BEGINNING_BYTES; ) {
      const passed = Math.min(this.#tagLeftBytes, piece.length - at);
      this.#tagLeftBytes -= passed;
      at += passed;
      const copied = piece.copy(this.#bytes, this.#length, at);
      at += copied;
      this.#length += copied;
      while (this.#dropTag());
    }
    if (this.#length < this.#lookAtBytes) return null;
    this.#lookAtBytes = this.#length < BEGINNING_BYTES ? Math.min(2 * this.#length, BEGINNING_BYTES) : Infinity;
    return certain(this.#bytes.subarray(0, this.#length));
  }

  /** What it is if nothing in it was audio: also after junk. */
  whole(): Foreign {
    const bytes = this.#bytes.subarray(0, this.#length);
    const here = certain(bytes) ?? byStart(LIKELY, bytes);
    if (here !== null) return here;
    for (let at = 1; at < Math.min(JUNK_BYTES, bytes.length); at++) {
      const behind = certain(bytes.subarray(at));
      if (behind !== null) return behind;
    }
    return UNKNOWN;
  }

  /** What comes beside playable audio; null: nothing that is known. */
  beside(): Foreign | null {
    return oggStreams(this.#bytes.subarray(0, this.#length))?.foreign ?? null;
  }

  /** A tag at its very beginning. */
  #dropTag(): boolean {
    if (this.#length < APE_HEADER_BYTES || !mayBeTag(this.#bytes, 0)) return false;
    const tag = tagBytes(this.#bytes, 0, true);
    const there = Math.min(tag, this.#length);
    this.#tagLeftBytes = tag - there;
    this.#bytes.copyWithin(0, there, this.#length);
    this.#length -= there;
    return tag > 0;
  }
}

/** The format that begins with these bytes, whatever follows. */
function certain(bytes: Buffer): Foreign | null {
  if (isWav(bytes)) return { name: 'WAV', advice: ENCODE };
  if (isRow(bytes, loasBytes)) return { name: 'AAC in LOAS (LATM)', advice: `${ADTS}: xHE-AAC has none` };
  if (isRow(bytes, tsBytes)) return { name: 'MPEG-TS', advice: BY_ITSELF };
  if (isFree(bytes)) return { name: 'MP3 with free-format bitrate', advice: 'choose a standard bitrate' };
  return byStart(CERTAIN, bytes) ?? foreignOgg(bytes);
}

function byStart(rows: readonly KnownStart[], bytes: Buffer): Foreign | null {
  const text = bytes.toString('latin1', 0, FIRST_LOOK_BYTES);
  const row = rows.find(([at, magic]) => text.startsWith(magic, at));
  return row === undefined ? null : { name: row[2], advice: row[3] };
}

/** Number of headers that must follow one another at the distances that `lengthAt` gives. */
const IN_A_ROW = 3;

/** @param lengthAt the length of the frame that begins there; 0: none */
function isRow(bytes: Buffer, lengthAt: (bytes: Buffer, at: number) => number): boolean {
  let at = 0;
  for (let found = 0; found < IN_A_ROW; found++) {
    const length = at + 4 > bytes.length ? 0 : lengthAt(bytes, at);
    if (length === 0) return false;
    at += length;
  }
  return true;
}

/** ISO 14496-3, 1.7.2: eleven bits of sync, thirteen of length. */
function loasBytes(bytes: Buffer, at: number): number {
  return bytes[at] === 0x56 && bytes[at + 1]! >= 0xe0 ? 3 + (bytes.readUInt16BE(at + 1) & 0x1fff) : 0;
}

const TS_BYTES = 188;

function tsBytes(bytes: Buffer, at: number): number {
  return bytes[at] === 0x47 ? TS_BYTES : 0;
}

/** Formats of a WAV that contains playable frames: MPEG audio and MP3. */
const FRAMES_IN_WAV: ReadonlySet<number> = new Set([0x50, 0x55]);
const WAV_BYTES = 22;

function isWav(bytes: Buffer): boolean {
  const text = bytes.toString('latin1', 0, 16);
  if (bytes.length < WAV_BYTES || !/^(?:RIFF|RF64|BW64)/.test(text) || !text.startsWith('WAVE', 8)) return false;
  return !text.endsWith('fmt ') || !FRAMES_IN_WAV.has(bytes.readUInt16LE(20));
}

/** The bits of an MPEG audio header without a stated bitrate that are equal in all frames: neither padding nor what changes with each frame. */
const FREE_MASK = 0xfffe_fc00;
/** A frame of 640 kb/s at 32 kHz. */
const MAX_FREE_BYTES = 2880;
const MIN_FREE_BYTES = 24;

/** MPEG audio whose frames do not state their length (ISO 11172-3, 2.4.2.3): its header recurs at a constant distance. */
function isFree(bytes: Buffer): boolean {
  const key = bytes.length < 4 ? 0 : (bytes.readUInt32BE(0) & FREE_MASK) >>> 0;
  const [version, layer, bitrate, rate] = [(key >>> 19) & 3, (key >>> 17) & 3, (key >>> 12) & 15, (key >>> 10) & 3];
  if (key >>> 21 !== 0x7ff || version === 1 || layer === 0 || bitrate !== 0 || rate === 3) return false;
  const isHere = (at: number) => at + 4 <= bytes.length && (bytes.readUInt32BE(at) & FREE_MASK) >>> 0 === key;
  for (let length = MIN_FREE_BYTES; length <= MAX_FREE_BYTES; length++) {
    if (isHere(length) && [2 * length - 1, 2 * length, 2 * length + 1].some(isHere)) return true;
  }
  return false;
}

/** First packets of Ogg codecs that are not played here, by their beginnings. */
const OGG_CODECS: readonly (readonly [begin: string, name: string, advice: string])[] = [
  ['Speex', 'Speex', 'send Opus'],
  ['\x80theora', 'Theora', 'send its audio without the pictures'],
  ['BBCD', 'Dirac', 'send its audio without the pictures'],
  ['PCM', 'PCM in Ogg', ENCODE],
  ['CELT', 'CELT', 'send Opus'],
];

/** Of multiplexed streams, one must be playable. */
function foreignOgg(bytes: Buffer): Foreign | null {
  const streams = oggStreams(bytes);
  return streams?.isOurs === false ? streams.foreign : null;
}

/** The first pages of multiplexed streams precede all other pages. Null: not all of them have arrived, or it is not Ogg. */
function oggStreams(bytes: Buffer): { readonly foreign: Foreign | null; readonly isOurs: boolean } | null {
  let foreign: Foreign | null = null;
  let isOurs = false;
  for (let at = 0; at + PAGE_HEADER_BYTES <= bytes.length && isPage(bytes, at); ) {
    if ((bytes[at + 5]! & FIRST) === 0) return { foreign, isOurs };
    const end = at + pageBytes(bytes, at, bytes.length - at);
    if (end > bytes.length) return null;
    const packet = bytes.subarray(at + headerBytes(bytes, at), end);
    if (readIdentification(packet) !== null) isOurs = true;
    const text = packet.toString('latin1', 0, 8);
    const codec = OGG_CODECS.find(([begin]) => text.startsWith(begin));
    if (codec !== undefined) foreign ??= { name: codec[1], advice: codec[2] };
    at = end;
  }
  return null;
}
