/**
 * Segments as fragments of MP4 (RFC 8216, 3.3; ISO 14496-12, 8.8). The initialization section holds what all of them share.
 *
 *   init      │ ftyp │ moov: track, codec │
 *   segment   │ emsg │ emsg │ moof: time, lengths, sizes │ mdat: frame, frame, … │
 *               ▲ in force at its beginning
 *                      ▲ a title that takes effect in it, at its exact place
 *
 * Times are 64-bit sample counts since 1970: the start of the discontinuity plus the samples since. Owned by HlsForms.
 */

import { randomBytes } from 'node:crypto';
import { box, boxHeader, fullBox, u16, u32, u64 } from './box.js';
import { id3Tag, titleFrames } from './id3.js';
import type { Mp4Track } from './mp4-track.js';
import type { HlsInit } from './playlist.js';
import type { SegmentForm, SegmentFrames, TaggedTitle } from './segment-form.js';

/** Carriage of ID3 Timed Metadata in the Common Media Application Format, 4. */
const ID3_SCHEME = Buffer.from('https://aomedia.org/emsg/ID3\0\0');
/** The duration of an event that lasts until the next one. */
const UNKNOWN_DURATION = 0xffffffff;
/** Rate 1, volume 1 and the identity matrix, for the boxes of moov. */
const [RATE, VOLUME, MATRIX] = [0x1_0000, 0x100_0000, [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000]] as const;
/** The language "und", five bits a letter. */
const LANGUAGE = 0x55c4;
/** ISO 14496-12, 8.8.7, 8.8.8. tfhd: offsets from moof, default sample flags; trun: data offset, durations, sizes. */
const [TFHD_FLAGS, TRUN_FLAGS] = [0x02_0020, 0x000_301] as const;
/** A sample that depends on no other. */
const SAMPLE_FLAGS = 0x0200_0000;
const BOX_HEADER_BYTES = 8;
/** FNV-1a. */
const [FNV_BASIS, FNV_PRIME] = [0x811c9dc5, 0x01000193] as const;

/** Knows the initialization section of the last segment, cut here or in a previous process. */
export interface LastInit {
  readonly lastInit: HlsInit | null;
}

export class FragmentForm implements SegmentForm {
  readonly extension = 'm4s';
  readonly sampleRate: number;
  readonly codecs: string;
  readonly init: HlsInit;

  /** @param before gives the name of its section to this one if both have the same bytes */
  constructor(track: Mp4Track, { lastInit }: LastInit) {
    this.sampleRate = track.sampleRate;
    this.codecs = track.codecs;
    const bytes = initSection(track);
    const isSame = lastInit?.bytes.equals(bytes) === true;
    this.init = isSame ? lastInit : { name: `init-${randomBytes(8).toString('hex')}.mp4`, bytes };
  }

  /** The name of its initialization section, which changes with the format. */
  get format(): string {
    return this.init.name;
  }

  payload(frame: Buffer): Buffer {
    return frame;
  }

  segment(frames: SegmentFrames): Buffer {
    return fragment(frames, this.sampleRate);
  }
}

export function initSection({ sampleRate, entry }: Mp4Track): Buffer {
  const none = u32(0);
  const tables = box(
    'stbl',
    fullBox('stsd', 0, 0, u32(1), entry),
    fullBox('stts', 0, 0, none),
    fullBox('stsc', 0, 0, none),
    fullBox('stsz', 0, 0, u32(0, 0)),
    fullBox('stco', 0, 0, none),
  );
  const source = box('dinf', fullBox('dref', 0, 0, u32(1), fullBox('url ', 0, 1)));
  const media = box(
    'mdia',
    fullBox('mdhd', 0, 0, u32(0, 0, sampleRate, 0), u16(LANGUAGE, 0)),
    fullBox('hdlr', 0, 0, none, Buffer.from('soun'), Buffer.alloc(12), Buffer.from('\0')),
    box('minf', fullBox('smhd', 0, 0, none), source, tables),
  );
  const movie = fullBox('mvhd', 0, 0, u32(0, 0, sampleRate, 0, RATE, VOLUME, 0, 0, ...MATRIX, 0, 0, 0, 0, 0, 0, 2));
  const track = fullBox('tkhd', 0, 7, u32(0, 0, 1, 0, 0, 0, 0, 0, VOLUME, ...MATRIX, 0, 0));
  const fragments = box('mvex', fullBox('trex', 0, 0, u32(1, 1, 0, 0, 0)));
  return Buffer.concat([
    box('ftyp', Buffer.from('iso6'), u32(1), Buffer.from('iso6cmfcmp41')),
    box('moov', movie, box('trak', track, media), fragments),
  ]);
}

/** Returns the bytes of a segment. */
export function fragment(frames: SegmentFrames, sampleRate: number): Buffer {
  const { startMs, samplesBefore, titles, bytes } = frames;
  const time = Math.round((startMs * sampleRate) / 1000) + samplesBefore;
  const events = titles.flatMap((title) => titleEvent(title, time, sampleRate));
  const head = Buffer.concat([...events, movieFragment(frames, time), boxHeader('mdat', bytes.length)]);
  // Not from Node's pool, which sockets would keep alive.
  const out = Buffer.allocUnsafeSlow(head.length + bytes.length);
  head.copy(out);
  bytes.copy(out, head.length);
  return out;
}

/** Returns an `emsg` of version 1, whose time is on the track's timeline (ISO 23009-1, 5.10.3.3). @param time of the segment, samples */
function titleEvent({ text, offsetMs }: TaggedTitle, time: number, sampleRate: number): Buffer[] {
  const words = titleFrames(text);
  // A tag needs at least one frame.
  if (words.length === 0) return [];
  const at = time + Math.round((offsetMs * sampleRate) / 1000);
  const id = fnv(`${text.id} ${at}`);
  const numbers = [u32(sampleRate), u64(at), u32(UNKNOWN_DURATION, id)];
  return [fullBox('emsg', 1, 0, ...numbers, ID3_SCHEME, id3Tag(words))];
}

function movieFragment({ number, sizes, samples }: SegmentFrames, time: number): Buffer {
  const list = Buffer.alloc(8 * sizes.length);
  for (const [i, size] of sizes.entries()) {
    list.writeUInt32BE(samples[i]!, 8 * i);
    list.writeUInt32BE(size, 8 * i + 4);
  }
  // Made twice: the data offset, after moof and the header of mdat, depends on the length of moof.
  const made = (bytes: number) => {
    const run = fullBox('trun', 0, TRUN_FLAGS, u32(sizes.length, bytes + BOX_HEADER_BYTES), list);
    const header = fullBox('tfhd', 0, TFHD_FLAGS, u32(1, SAMPLE_FLAGS));
    const track = box('traf', header, fullBox('tfdt', 1, 0, u64(time)), run);
    return box('moof', fullBox('mfhd', 0, 0, u32(number % 2 ** 32)), track);
  };
  return made(made(0).length);
}

function fnv(text: string): number {
  let hash: number = FNV_BASIS;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return hash >>> 0;
}
