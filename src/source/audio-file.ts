/**
 * Whether a file can be played, before anything plays it: its first frame is looked for as the player (file-player.ts) would. Synchronous, for the
 * start of the process.
 */

import { closeSync, openSync, readSync } from 'node:fs';
import { type AnyFramer, framerFor } from '../audio/format.js';
import { MOST_GARBAGE_BYTES } from './file-player.js';
import { nameOfFormat } from './magic.js';

const READ_BYTES = 65_536;

/** Why it has nothing that could be played, as the end of a sentence that names it; null: it has. Throws where it cannot be read. */
export function audioProblem(path: string): string | null {
  const file = openSync(path, 'r');
  try {
    return look((piece, at) => readSync(file, piece, 0, READ_BYTES, at));
  } finally {
    closeSync(file);
  }
}

function look(read: (piece: Buffer, at: number) => number): string | null {
  const framer: AnyFramer = framerFor({ onFrame: () => framer.pause() });
  const piece = Buffer.allocUnsafeSlow(READ_BYTES);
  let looks = '';
  for (let at = 0; ; ) {
    const bytes = read(piece, at);
    if (at === 0) looks = looksLike(piece.subarray(0, bytes));
    framer.push(piece.subarray(0, bytes));
    at += bytes;
    const { frames, skippedBytes } = framer.counters;
    if (frames > 0) return null;
    if (bytes > 0 && skippedBytes <= MOST_GARBAGE_BYTES) continue;
    return `has no MP3, AAC (ADTS) or Ogg audio that could be played${looks}`;
  }
}

/** As the end of that sentence. */
function looksLike(first: Buffer): string {
  if (first.length === 0) return ' (it is empty)';
  const name = nameOfFormat(first);
  return name === 'unknown' ? '' : ` (it looks like ${name})`;
}
