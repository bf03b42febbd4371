/** Forged Ogg: headers with impossible claims, invalid pages, tiny packets. */

import { FIRST, PageWriter } from '../../src/audio/ogg/ogg-page.js';

export const OPUS_HEAD = Buffer.concat([Buffer.from('OpusHead\x01\x02', 'latin1'), Buffer.alloc(9)]);
export const OPUS_TAGS = Buffer.from('OpusTags\0\0\0\0\0\0\0\0', 'latin1');

/** FLAC's first packet: STREAMINFO, 2 channels of 16 bits. */
export function flacHead(sampleRate: number, minBlock = 16, maxBlock = 65_535): Buffer {
  const head = Buffer.alloc(51);
  head.write('\x7fFLAC\x01\0\0\x01fLaC\0\0\0\x22', 'latin1');
  head.writeUInt16BE(minBlock, 17);
  head.writeUInt16BE(maxBlock, 19);
  head.writeUIntBE(sampleRate * 16 + (1 << 1), 27, 3);
  head[30] = 0xf0;
  return head;
}
/** FLAC's comments, empty, the last block. */
export const FLAC_TAGS = Buffer.from([0x84, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
/** A frame of FLAC in 10 bytes that claims this many samples. */
export function flacFrame(samples: number): Buffer {
  const frame = Buffer.from([0xff, 0xf8, 0x70, 0x18, 0, 0, 0, 0, 0, 0]);
  frame.writeUInt16BE(samples - 1, 5);
  return frame;
}

export function vorbisHead(sampleRate: number, short = 8, long = 11, channels = 2): Buffer {
  const head = Buffer.alloc(30);
  head.write('\x01vorbis', 'latin1');
  head[11] = channels;
  head.writeUInt32LE(sampleRate, 12);
  head[28] = (long << 4) | short;
  head[29] = 1;
  return head;
}

/** A stream of these header packets and pages of packets. @param step between page numbers: more than 1 makes gaps */
export function oggOf(headers: readonly Buffer[], pages: readonly (readonly Buffer[])[], step = 1): Buffer {
  const writer = new PageWriter(7, 0, FIRST);
  for (const header of headers) {
    writer.packet(header, 0);
    writer.end();
  }
  const parts = [writer.take()];
  for (const [i, packets] of pages.entries()) {
    const page = new PageWriter(7, headers.length + i * step, 0);
    for (const packet of packets) page.packet(packet, 960 * (i + 1));
    page.end();
    parts.push(page.take());
  }
  return Buffer.concat(parts);
}

/** Consecutive page headers of 27 bytes, each for a page of 56 KB. */
export function forgedHeads(bytes: number): Buffer {
  const head = Buffer.alloc(27, 0xff);
  head.write('OggS\0', 'latin1');
  return Buffer.alloc(bytes, head);
}
