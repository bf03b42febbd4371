/**
 * Whether a file can be played, and what that is, before anything plays it: its first frame is looked for as the player (file-player.ts) would.
 * Synchronous for the start of the process.
 */

import { closeSync, openSync, readSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { type AudioFormat, frameFormat } from '../../audio/frames/audio-format.js';
import { type AnyFramer, framerFor } from '../../audio/frames/format.js';
import { nameOfFormat } from '../magic.js';
import { MAX_GARBAGE_BYTES } from './file-player.js';

const READ_BYTES = 65_536;

/** Why it has nothing that could be played, as the end of a sentence that names it; null: it has. Throws where it cannot be read. */
export function audioProblem(path: string): string | null {
  const file = openSync(path, 'r');
  try {
    const first = new FirstFrame();
    while (first.wants(readSync(file, first.piece, 0, READ_BYTES, first.atByte)));
    return first.format === null ? `has no MP3, AAC (ADTS) or Ogg audio that could be played${first.looks}` : null;
  } finally {
    closeSync(file);
  }
}

/** What it plays; null: nothing. Rejects where it cannot be read. */
export async function audioFormat(path: string): Promise<AudioFormat | null> {
  // Opening a pipe would hang until something is written to it.
  if (!(await stat(path)).isFile()) return null;
  const file = await open(path);
  try {
    const first = new FirstFrame();
    while (first.wants((await file.read(first.piece, 0, READ_BYTES, first.atByte)).bytesRead));
    return first.format;
  } finally {
    await file.close();
  }
}

class FirstFrame {
  readonly piece = Buffer.allocUnsafeSlow(READ_BYTES);
  atByte = 0;
  /** Null: it was not found yet. */
  format: AudioFormat | null = null;
  looks = '';
  readonly #framer: AnyFramer = framerFor({
    onFrame: ({ bytes, link }) => {
      this.format = link?.facts ?? frameFormat(bytes);
      this.#framer.pause();
    },
  });

  /** So much was read into the piece. Whether more is to be read. */
  wants(bytes: number): boolean {
    const piece = this.piece.subarray(0, bytes);
    if (this.atByte === 0) this.looks = looksLike(piece);
    this.#framer.push(piece);
    this.atByte += bytes;
    return bytes > 0 && this.format === null && this.#framer.counters.skippedBytes <= MAX_GARBAGE_BYTES;
  }
}

/** As the end of that sentence. */
function looksLike(first: Buffer): string {
  if (first.length === 0) return ' (it is empty)';
  const name = nameOfFormat(first);
  return name === 'unknown' ? '' : ` (it looks like ${name})`;
}
