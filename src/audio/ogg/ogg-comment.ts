/**
 * Comments of an Ogg stream: the packet with its title (Vorbis I specification, section 5; RFC 7845, section 5.2).
 *
 *   vorbis  03 "vorbis" │ list │ 01         list: vendor, number, then NAME=value each; every text with its length before it,
 *   opus    "OpusTags"  │ list                    4 bytes little-endian, in UTF-8
 *   flac    84 length   │ list
 *
 * Pure. Lengths in an encoder's packet are not trusted, and only LIST_BYTES of it are sent on.
 */

import type { Tags } from '../../metadata/icy.js';
import { decodeTitle } from '../../metadata/text.js';
import type { OggCodec } from './ogg-codec.js';

/** Maximum of an encoder's vendor and comments that is sent on to every listener; album art does not fit. */
const LIST_BYTES = 4096;
/** More is kept, since comments about a track are left out where a title of ours replaces them. */
const KEPT_BYTES = 4 * LIST_BYTES;
const NONE = Buffer.alloc(0);
/** Later ones are ignored. */
const MAX_COMMENTS = 1000;
/** Longer names are unknown ones. */
const MAX_NAME_BYTES = 64;

export interface Comments {
  readonly vendor: Buffer;
  /** `NAME=value` each, as the encoder wrote them. */
  readonly list: readonly Buffer[];
}

const SIGNATURES: Record<OggCodec, Buffer> = {
  vorbis: Buffer.from('\x03vorbis', 'latin1'),
  opus: Buffer.from('OpusTags', 'latin1'),
  flac: Buffer.alloc(4),
};

/** The content of a comment packet, as far as it is complete. */
export function readComments(packet: Buffer, codec: OggCodec): Comments {
  let at = SIGNATURES[codec].length;
  const text = (): Buffer | null => {
    if (at + 4 > packet.length) return null;
    const length = packet.readUInt32LE(at);
    if (at + 4 + length > packet.length) return null;
    at += 4 + length;
    return packet.subarray(at - length, at);
  };
  const vendor = text();
  if (vendor === null || at + 4 > packet.length) return { vendor: NONE, list: [] };
  const count = Math.min(MAX_COMMENTS, packet.readUInt32LE(at));
  at += 4;
  const list: Buffer[] = [];
  for (let i = 0; i < count; i++) {
    const comment = text();
    if (comment === null) break;
    list.push(comment);
  }
  return { vendor, list };
}

/** Copies of what can be sent on: a link may be kept for a minute, but its packet, which may have a picture of a MB, must not be. */
export function keptComments({ vendor, list }: Comments): Comments {
  let roomBytes = KEPT_BYTES;
  const fits = (comment: Buffer) => comment.length <= LIST_BYTES && (roomBytes -= comment.length) >= 0;
  return {
    vendor: vendor.length <= LIST_BYTES ? Buffer.from(vendor) : NONE,
    list: list.filter(fits).map((comment) => Buffer.from(comment)),
  };
}

/**
 * The values of all comments of this name (in capitals), each once; of a longer one the first LIST_BYTES.
 * @param charset the charset of values that are not UTF-8: some encoders write in that of their system
 */
export function commentsOf({ list }: Comments, name: string, charset?: string): string[] {
  const start = name.length + 1;
  const found = list.filter((comment) => nameOf(comment) === name);
  const values = found.map((comment) => decodeTitle(comment.subarray(start, start + LIST_BYTES), charset));
  return [...new Set(values)].filter((value) => value !== '');
}

/** A comment packet. @param comments as from keptComments @param tags replace the encoder's own; null: these stay */
export function commentPacket({ vendor, list }: Comments, tags: Tags | null, codec: OggCodec): Buffer {
  const ours =
    tags === null
      ? []
      : [...field('TITLE', tags.title), ...field('ARTIST', tags.artist), ...field('ALBUM', tags.album)];
  const kept: Buffer[] = [];
  let roomBytes = LIST_BYTES - vendor.length;
  for (const comment of list) {
    if (4 + comment.length > roomBytes || (tags !== null && OF_A_TITLE.has(nameOf(comment)))) continue;
    roomBytes -= 4 + comment.length;
    kept.push(comment);
  }
  const all = [...kept, ...ours];
  const parts = [sized(vendor), number(all.length), ...all.map(sized)];
  if (codec === 'vorbis') return Buffer.concat([SIGNATURES.vorbis, ...parts, Buffer.from([1])]);
  if (codec === 'opus') return Buffer.concat([SIGNATURES.opus, ...parts]);
  const block = Buffer.concat(parts);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(0x84000000 + block.length); // VORBIS_COMMENT, and the last block
  return Buffer.concat([head, block]);
}

/** Comments about one track, wrong beside a title of ours. */
const OF_A_TITLE = new Set([
  ...['TITLE', 'ARTIST', 'ALBUM', 'ALBUMARTIST', 'TRACKNUMBER', 'DATE', 'ISRC', 'COVERART'],
  'METADATA_BLOCK_PICTURE',
]);

/** Names are ASCII, without regard to case. */
function nameOf(comment: Buffer): string {
  const end = comment.subarray(0, MAX_NAME_BYTES + 1).indexOf(0x3d);
  return end < 0 ? '' : comment.toString('latin1', 0, end).toUpperCase();
}

function field(name: string, value: string): Buffer[] {
  return value === '' ? [] : [Buffer.from(`${name}=${value}`)];
}

function sized(text: Buffer): Buffer {
  return Buffer.concat([number(text.length), text]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
