/** Reads initialization sections and fragments of MP4, independently of the code under test; throws at any inconsistency. */

import { readTag } from './id3.js';

interface Box {
  readonly type: string;
  /** Offset from the start of the bytes. */
  readonly at: number;
  readonly body: Buffer;
}

/** Reads consecutive boxes up to the last byte. */
export function boxesIn(bytes: Buffer): Box[] {
  const boxes: Box[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = bytes.readUInt32BE(at);
    if (size < 8 || at + size > bytes.length) throw new Error(`a box of ${size} bytes at ${at} of ${bytes.length}`);
    boxes.push({ type: bytes.toString('latin1', at + 4, at + 8), at, body: bytes.subarray(at + 8, at + size) });
    at += size;
  }
  return boxes;
}

/** The only box at this path. */
function boxAt(bytes: Buffer, ...path: readonly string[]): Buffer {
  let body = bytes;
  for (const type of path) {
    const found = boxesIn(body).filter((box) => box.type === type);
    if (found.length !== 1) throw new Error(`${found.length} boxes ${type} in ${path}`);
    body = found[0]!.body;
  }
  return body;
}

export interface ReadInit {
  /** Type of the sample entry, and of the box in it. */
  readonly entry: string;
  readonly channels: number;
  readonly bits: number;
  readonly sampleRate: number;
  readonly configType: string;
  readonly config: Buffer;
  /** Of the movie, and of the track. */
  readonly timescales: readonly number[];
  readonly trackId: number;
}

export function readInit(bytes: Buffer): ReadInit {
  const [ftyp, moov, ...others] = boxesIn(bytes);
  if (ftyp?.type !== 'ftyp' || moov?.type !== 'moov' || others.length > 0) throw new Error('no ftyp and moov');
  const track = boxAt(moov.body, 'trak');
  const media = boxAt(track, 'mdia');
  const tables = boxAt(media, 'minf', 'stbl');
  if (boxAt(media, 'hdlr').toString('latin1', 8, 12) !== 'soun') throw new Error('no track of audio');
  if (boxAt(moov.body, 'mvex', 'trex').readUInt32BE(4) !== 1) throw new Error('no defaults for track 1');
  for (const [type, countAt] of [
    ['stts', 4],
    ['stsc', 4],
    ['stsz', 8],
    ['stco', 4],
  ] as const) {
    if (boxAt(tables, type).readUInt32BE(countAt) !== 0) throw new Error(`samples in ${type}`);
  }
  const entries = boxAt(tables, 'stsd');
  if (entries.readUInt32BE(4) !== 1) throw new Error('no single entry');
  const [entry] = boxesIn(entries.subarray(8));
  const { type, body } = entry!;
  if (body.readUInt16BE(6) !== 1) throw new Error('the data is elsewhere');
  const [config] = boxesIn(body.subarray(28));
  return {
    entry: type,
    channels: body.readUInt16BE(16),
    bits: body.readUInt16BE(18),
    sampleRate: body.readUInt32BE(24) / 65_536,
    configType: config!.type,
    config: config!.body,
    timescales: [boxAt(moov.body, 'mvhd').readUInt32BE(12), boxAt(media, 'mdhd').readUInt32BE(12)],
    trackId: boxAt(track, 'tkhd').readUInt32BE(12),
  };
}

export interface ReadEvent {
  readonly timescale: number;
  readonly at: bigint;
  readonly id: number;
  readonly tag: Readonly<Record<string, string>>;
}

export interface ReadFragment {
  readonly events: readonly ReadEvent[];
  readonly sequence: number;
  readonly at: bigint;
  readonly frames: readonly { readonly bytes: Buffer; readonly samples: number }[];
}

export function readFragment(bytes: Buffer): ReadFragment {
  const boxes = boxesIn(bytes);
  const [moof, mdat] = boxes.slice(-2);
  const before = boxes.slice(0, -2);
  if (moof?.type !== 'moof' || mdat?.type !== 'mdat') throw new Error(`${boxes.map(({ type }) => type)}`);
  const header = boxAt(moof.body, 'traf', 'tfhd');
  const time = boxAt(moof.body, 'traf', 'tfdt');
  const run = boxAt(moof.body, 'traf', 'trun');
  if (header.readUInt32BE(0) !== 0x020020 || header.readUInt32BE(4) !== 1) throw new Error('tfhd');
  if (time[0] !== 1 || run.readUInt32BE(0) !== 0x301) throw new Error('tfdt, trun');
  let from = moof.at + run.readInt32BE(8);
  if (from !== mdat.at + 8) throw new Error('the frames are not where they should be');
  const frames = Array.from({ length: run.readUInt32BE(4) }, (_, i) => {
    const [samples, size] = [run.readUInt32BE(12 + 8 * i), run.readUInt32BE(16 + 8 * i)];
    return { samples, bytes: bytes.subarray(from, (from += size)) };
  });
  if (from !== bytes.length || run.length !== 12 + 8 * frames.length) throw new Error('sizes');
  return {
    events: before.map(({ type, body }) => readEvent(type, body)),
    sequence: boxAt(moof.body, 'mfhd').readUInt32BE(4),
    at: time.readBigUInt64BE(4),
    frames,
  };
}

function readEvent(type: string, body: Buffer): ReadEvent {
  if (type !== 'emsg' || body[0] !== 1) throw new Error(`${type} before moof`);
  const [scheme, value] = body.toString('latin1', 24).split('\0');
  if (scheme !== 'https://aomedia.org/emsg/ID3' || value !== '') throw new Error(`scheme ${scheme}, value ${value}`);
  if (body.readUInt32BE(16) !== 0xffffffff) throw new Error('a duration');
  const { tag, end } = readTag(body.subarray(24 + scheme.length + 2));
  if (24 + scheme.length + 2 + end !== body.length) throw new Error('something behind the tag');
  return { timescale: body.readUInt32BE(4), at: body.readBigUInt64BE(8), id: body.readUInt32BE(20), tag };
}
