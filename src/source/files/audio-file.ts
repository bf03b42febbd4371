/**
 * Finds out whether a file can be played, and its format, before it is played: searches its first frame as the player (file-player.ts) does.
 * Synchronous for the start of the process.
 */

import { closeSync, openSync, readSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { type AudioFormat, frameFormat } from '../../audio/frames/audio-format.js';
import { type AnyFramer, framerFor } from '../../audio/frames/format.js';
import { nameOfFormat } from '../magic.js';
import { MAX_GARBAGE_BYTES } from './file-player.js';

const READ_BYTES = 65_536;

/** Why it cannot be played, as the end of a sentence that begins with its name; null: it can. Throws if it cannot be read. */
export function audioProblem(path: string): string | null {
  const file = openSync(path, 'r');
  try {
    const first = new FirstFrame();
    while (first.wants(readSync(file, first.piece, 0, READ_BYTES, first.atByte)));
    return first.format === null ? `has no playable MP3, AAC (ADTS) or Ogg audio${first.looks}` : null;
  } finally {
    closeSync(file);
  }
}

/** Its format; null: it cannot be played. Rejects if it cannot be read. */
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
  /** Null: not found yet. */
  format: AudioFormat | null = null;
  looks = '';
  readonly #framer: AnyFramer = framerFor({
    onFrame: ({ bytes, link }) => {
      this.format = link?.facts ?? frameFormat(bytes);
      this.#framer.pause();
    },
  });

  /** This many bytes were read into the piece. Returns whether to read more. */
  wants(bytes: number): boolean {
    const piece = this.piece.subarray(0, bytes);
    if (this.atByte === 0) this.looks = looksLike(piece);
    this.#framer.push(piece);
    this.atByte += bytes;
    return bytes > 0 && this.format === null && this.#framer.counters.skippedBytes <= MAX_GARBAGE_BYTES;
  }
}

/** The end of that sentence. */
function looksLike(first: Buffer): string {
  if (first.length === 0) return ' (it is empty)';
  const name = nameOfFormat(first);
  return name === 'unknown' ? '' : ` (it looks like ${name})`;
}
