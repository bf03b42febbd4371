/** ID3v2.4 tags with titles: at the start of a packed segment (packed.ts), and in the events of a fragment (fragment.ts). Pure. */

import type { TitleText } from './hls-title.js';

/** ID3v2.4 structure, 4: text in UTF-8. */
const UTF8 = 3;

/** ID3v2.4 structure, 3.1. */
export function id3Tag(frames: readonly Buffer[]): Buffer {
  const body = Buffer.concat(frames);
  return Buffer.concat([Buffer.from('ID3\x04\0\0', 'latin1'), syncSafe(body.length), body]);
}

/** ID3v2.4 structure, 4: name, size, flags. */
export function id3Frame(name: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(name, 'latin1'), syncSafe(body.length), Buffer.alloc(2), body]);
}

/** Returns frames for the title's known texts and the id of its record. */
export function titleFrames({ title, artist, album, record }: TitleText): Buffer[] {
  const texts = [
    ['TIT2', title],
    ['TPE1', artist],
    ['TALB', album],
  ] as const;
  const frames = texts.filter(([, text]) => text !== '').map(([name, text]) => textFrame(name, `${text}\0`));
  return record === '' ? frames : [...frames, textFrame('TXXX', `id\0${record}\0`)];
}

function textFrame(name: string, text: string): Buffer {
  return id3Frame(name, Buffer.concat([Buffer.from([UTF8]), Buffer.from(text)]));
}

/** Seven bits a byte. */
function syncSafe(length: number): Buffer {
  return Buffer.from([21, 14, 7, 0].map((shift) => (length >> shift) & 0x7f));
}
