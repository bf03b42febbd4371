/** Writes a rewind's log as an earlier process left it, optionally with its files. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { RewindLine } from '../../src/hls/hls-schema.js';
import { encode } from '../../src/metadata/codec.js';

export const LEFT_SECONDS = 4;
const BYTES = 1000;

export function leftName(sequence: number): string {
  return `${sequence}-${sequence.toString(16).padStart(16, '0')}.mp3`;
}

/** @param folder the data folder @param endMs of the last segment, unix milliseconds @returns the first media sequence number */
export function leaveRewind(folder: string, channel: string, count: number, endMs: number, files = 0): number {
  const own = join(folder, 'hls', channel);
  mkdirSync(join(own, 'rewind'), { recursive: true });
  const first = Math.floor(endMs / 1000) - count * LEFT_SECONDS;
  const lines = Array.from({ length: count }, (_, i): RewindLine => {
    const sequence = first + i;
    const bytes = Buffer.alloc(BYTES, i);
    if (i < files) writeFileSync(join(own, leftName(sequence)), bytes);
    return {
      segment: {
        sequence,
        name: leftName(sequence),
        init: null,
        startMs: endMs - (count - i) * LEFT_SECONDS * 1000,
        micros: LEFT_SECONDS * 1e6,
        isDiscontinuity: false,
        discontinuities: 0,
        targetSeconds: LEFT_SECONDS,
        length: BYTES,
        crc: crc32(bytes),
      },
    };
  });
  writeFileSync(join(own, 'rewind', `${first}.jsonl`), lines.map((line) => `${encode(line)}\n`).join(''));
  return first;
}
