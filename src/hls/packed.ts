/**
 * A segment of packed audio: an ID3v2.4 tag, then whole frames of MP3 or AAC as they came (RFC 8216, 3.4).
 *
 *   │ ID3 │ PRIV timestamp │ TIT2 │ TPE1 │ TALB │ TXXX id │ frame │ frame │ …     there is no tag but this one: ffmpeg loses a frame for each
 *
 * Pure.
 */

import type { TitleText } from './hls-title.js';

/** Of MPEG-2 transport streams: 90 kHz in 33 bits, which begin again after 26.5 hours. */
const TIMESTAMP_HERTZ = 90_000;
const TIMESTAMP_END = 2 ** 33;
const TIMESTAMP_OWNER = 'com.apple.streaming.transportStreamTimestamp\0';
/** ID3v2.4 structure, 4: text in UTF-8. */
const UTF8 = 3;

/**
 * The timestamp of a place: how far it is behind the start of its discontinuity, by what was sampled.
 * @param startMs of that start, unix milliseconds @param seconds of audio since
 */
export function timestampAt(startMs: number, seconds: number): number {
  return Math.round((startMs * TIMESTAMP_HERTZ) / 1000 + seconds * TIMESTAMP_HERTZ) % TIMESTAMP_END;
}

/**
 * @param timestamp of the first frame, as `timestampAt` has it
 * @param title in force there; null: none is known
 * @param frames copied
 */
export function packedSegment(timestamp: number, title: TitleText | null, frames: Buffer): Buffer {
  const tag = id3Tag([timestampFrame(timestamp), ...(title === null ? [] : titleFrames(title))]);
  // Not of Node's pool: sockets may hold it.
  const out = Buffer.allocUnsafeSlow(tag.length + frames.length);
  tag.copy(out);
  frames.copy(out, tag.length);
  return out;
}

function titleFrames({ title, artist, album, record }: TitleText): Buffer[] {
  const texts = [
    ['TIT2', title],
    ['TPE1', artist],
    ['TALB', album],
  ] as const;
  const frames = texts.filter(([, text]) => text !== '').map(([name, text]) => textFrame(name, `${text}\0`));
  return record === '' ? frames : [...frames, textFrame('TXXX', `id\0${record}\0`)];
}

function timestampFrame(timestamp: number): Buffer {
  const body = Buffer.alloc(TIMESTAMP_OWNER.length + 8);
  body.write(TIMESTAMP_OWNER, 'latin1');
  body.writeBigUInt64BE(BigInt(timestamp), TIMESTAMP_OWNER.length);
  return id3Frame('PRIV', body);
}

function textFrame(name: string, text: string): Buffer {
  return id3Frame(name, Buffer.concat([Buffer.from([UTF8]), Buffer.from(text)]));
}

/** ID3v2.4 structure, 4: name, size, flags. */
function id3Frame(name: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(name, 'latin1'), syncSafe(body.length), Buffer.alloc(2), body]);
}

/** ID3v2.4 structure, 3.1. */
function id3Tag(frames: readonly Buffer[]): Buffer {
  const body = Buffer.concat(frames);
  return Buffer.concat([Buffer.from('ID3\x04\0\0', 'latin1'), syncSafe(body.length), body]);
}

/** Seven bits a byte. */
function syncSafe(length: number): Buffer {
  return Buffer.from([21, 14, 7, 0].map((shift) => (length >> shift) & 0x7f));
}
