/**
 * Synthetic Ogg streams, valid and forged: headers and packets of Opus and FLAC with fields from the caller, pages that announce bytes that never
 * arrive. For attacks and fuzzers; test/audio/ogg/ogg.test.ts has streams of real encoders.
 */

import { FIRST, PAGE_HEADER_BYTES, PageWriter } from '../../src/audio/ogg/ogg-page.js';

const OPUS_HEAD = Buffer.concat([Buffer.from('OpusHead\x01\x02', 'latin1'), Buffer.from('380180bb0000000000', 'hex')]);
const OPUS_TAGS = Buffer.concat([Buffer.from('OpusTags'), Buffer.alloc(8)]);
const FLAC_COMMENTS = Buffer.concat([Buffer.from([0x84, 0, 0, 8]), Buffer.alloc(8)]);
/** 20 ms of CELT, stereo, silent. */
const OPUS_PACKET = Buffer.from('fcfffe', 'hex');

export interface OpusFacts {
  readonly channels?: number;
  readonly preSkip?: number;
  readonly gain?: number;
}

/** A link's headers, as packets. */
export function opusHeaders({ channels = 2, preSkip = 312, gain = 0 }: OpusFacts = {}): Buffer[] {
  const head = Buffer.from(OPUS_HEAD);
  head[9] = channels;
  head.writeUInt16LE(preSkip, 10);
  head.writeInt16LE(gain, 16);
  return [head, OPUS_TAGS];
}

export interface FlacFacts {
  readonly hertz: number;
  readonly channels?: number;
  readonly bits?: number;
}

export function flacHeaders({ hertz, channels = 2, bits = 16 }: FlacFacts): Buffer[] {
  const head = flacHead(hertz);
  head.writeUInt16BE(0xffff, 19);
  head[29] = (head[29]! & 0xf0) | ((channels - 1) << 1) | ((bits - 1) >> 4);
  head[30] = (bits - 1) << 4;
  return [head, FLAC_COMMENTS];
}

/** A packet of 20 ms of Opus that contains its number; no decoder has checked it. */
export function numberedPacket(number: number): Buffer {
  const packet = Buffer.alloc(60, 1);
  packet[0] = 0xfc;
  packet.writeUInt32BE(number, 1);
  return packet;
}

/** A FLAC frame's header with a number of samples, up to 65,536, and the frame's number. */
export function flacPacket(number: number, samples: number): Buffer {
  const packet = Buffer.alloc(40, 1);
  packet.set([0xff, 0xf8, 0x70, 0x18, number & 0x7f, (samples - 1) >> 8, (samples - 1) & 0xff]);
  packet.writeUInt32BE(number, 10);
  return packet;
}

/** Comments as in OpusTags and Vorbis, after their magic. */
export function comments(...fields: (string | Buffer)[]): Buffer {
  const number = (n: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(n);
    return bytes;
  };
  const texts = fields.map((field) => (typeof field === 'string' ? Buffer.from(field) : field));
  return Buffer.concat([number(0), number(texts.length), ...texts.flatMap((text) => [number(text.length), text])]);
}

/** A link of Opus: its two headers, and `packets` packets of 20 ms, 10 a page. */
export function opusLink(serial: number, packets: number, ...fields: (string | Buffer)[]): Buffer {
  const tags = fields.length === 0 ? OPUS_TAGS : Buffer.concat([Buffer.from('OpusTags'), comments(...fields)]);
  const writer = new PageWriter(serial, 0, FIRST);
  writer.packet(OPUS_HEAD, 0);
  writer.end();
  writer.packet(tags, 0);
  writer.end();
  return Buffer.concat([writer.take(), opusPages(serial, 2, packets)]);
}

/** @param sequence number of the first page */
export function opusPages(serial: number, sequence: number, packets: number): Buffer {
  const writer = new PageWriter(serial, sequence, 0);
  for (let n = 1; n <= packets; n++) {
    writer.packet(OPUS_PACKET, n * 960);
    if (n % 10 === 0) writer.end();
  }
  writer.end();
  return writer.take();
}

/** FLAC's first packet: STREAMINFO that claims this sample rate. */
function flacHead(hertz: number): Buffer {
  const head = Buffer.alloc(51);
  head.write('\x7fFLAC\x01\x00\x00\x01fLaC', 0, 'latin1');
  head.writeUInt32BE(34, 13); // block type 0, of 34 bytes
  head.writeUInt16BE(4096, 17);
  head.writeUInt16BE(4096, 19);
  head.writeUIntBE(hertz * 16 + 2, 27, 3); // two channels
  head[30] = 0xf0;
  return head;
}

/** FLAC that claims this sample rate; each packet has ten bytes, and claims 65,536 samples, or 4,608. */
export function flacLink(serial: number, hertz: number, packets: number, samplesCode = 7): Buffer {
  const writer = new PageWriter(serial, 0, FIRST);
  writer.packet(flacHead(hertz), 0);
  writer.end();
  writer.packet(FLAC_COMMENTS, 0);
  writer.end();
  const packet = Buffer.from([0xff, 0xf8, (samplesCode << 4) | 9, 0x18, 0, 0xff, 0xff, 0, 0, 0]);
  for (let n = 1; n <= packets; n++) {
    writer.packet(packet, n * 65_536);
    if (n % 20 === 0) writer.end();
  }
  writer.end();
  return writer.take();
}

/** A page's header that announces 65,025 bytes, which do not follow. */
export function forgedHead(): Buffer {
  const head = Buffer.alloc(PAGE_HEADER_BYTES + 255, 0xff);
  head.write('OggS\x00\x00', 0, 'latin1');
  return head;
}

/** Forged headers of 27 bytes, each in the lacings of the previous ones: a naive reader computes a CRC over 54 KB for each. */
export function forgedHeads(count: number): Buffer {
  return Buffer.alloc(PAGE_HEADER_BYTES * count, forgedHead().subarray(0, PAGE_HEADER_BYTES));
}
