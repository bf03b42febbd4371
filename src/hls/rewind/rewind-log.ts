/**
 * The log of a channel's rewind: files of lines (RewindLine) in `{channel}/rewind`, each named by the media sequence number with which it begins. A
 * line is appended for each segment and title, so that a segment costs the same whatever the hours; the oldest files go with their segments.
 *
 *   1700.jsonl  1956.jsonl  2212.jsonl        who cuts or copies the channel appends; that process and all that serve it read on from where they were
 *
 * Invariants: a line is read when it is whole; a file is over when there is a later one; what cannot be read is left out, and what is behind it is
 * read.
 */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { decode } from '../../metadata/codec.js';
import { MAX_KEPT, type RewindLine, rewindSchema } from '../hls-schema.js';
import { openKept } from './kept-file.js';
import { RewindList } from './rewind-list.js';

/** Of the channel's folder. */
export const LOG_FOLDER = 'rewind';
const CHUNK = /^(\d{1,15})\.jsonl$/;
/** Of lines, in one turn of the event loop. None is longer. */
const TURN_BYTES = 256 * 1024;

export function chunkPath(folder: string, first: number): string {
  return join(folder, LOG_FOLDER, `${first}.jsonl`);
}

export class RewindLog {
  readonly list = new RewindList();
  /** Those that are there, in order. */
  chunks: readonly number[] = [];
  readonly #folder: string;
  readonly #onDamaged: (error: unknown) => void;
  /** Which file is read, and up to where. */
  #chunk: number | null = null;
  #offset = 0;
  /** The last reading. */
  #reading: Promise<void> = Promise.resolve();

  /** @param folder of the channel @param onDamaged a line, or a file, is left out */
  constructor(folder: string, onDamaged: (error: unknown) => void) {
    this.#folder = folder;
    this.#onDamaged = onDamaged;
  }

  /** Reads what was appended by now. Never rejects. */
  read(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read()).catch(this.#onDamaged);
    return this.#reading;
  }

  async #read(): Promise<void> {
    const entries = await readdir(join(this.#folder, LOG_FOLDER), { withFileTypes: true }).catch(() => []);
    const chunks = entries
      .flatMap((entry) => (entry.isFile() && CHUNK.test(entry.name) ? [Number.parseInt(entry.name, 10)] : []))
      // One ahead of all that are to come would be the last one for ever.
      .filter((chunk) => chunk <= MAX_KEPT);
    this.chunks = chunks.sort((a, b) => a - b);
    // It has begun anew, or has gone on by more than was read.
    if (this.#chunk !== null && !chunks.includes(this.#chunk)) {
      this.list.clear();
      this.#chunk = null;
    }
    for (const chunk of chunks) {
      if (this.#chunk !== null && chunk < this.#chunk) continue;
      if (chunk !== this.#chunk) [this.#chunk, this.#offset] = [chunk, 0];
      await this.#readChunk(chunkPath(this.#folder, chunk)).catch(this.#onDamaged);
    }
  }

  async #readChunk(path: string): Promise<void> {
    const file = await openKept(path);
    try {
      const { size } = await file.stat();
      for (let end = 1; end > 0 && this.#offset < size; this.#offset += end) {
        const buffer = Buffer.alloc(Math.min(TURN_BYTES, size - this.#offset));
        const { bytesRead } = await file.read(buffer, 0, buffer.length, this.#offset);
        end = buffer.subarray(0, bytesRead).lastIndexOf('\n') + 1;
        // A line that is longer is none of ours: what is left of it is not read either.
        if (end === 0 && bytesRead === TURN_BYTES) end = bytesRead;
        for (const line of buffer.toString('utf8', 0, end).split('\n')) if (line !== '') this.#take(line);
      }
    } finally {
      await file.close();
    }
  }

  #take(line: string): void {
    try {
      this.list.take(decode<RewindLine>(rewindSchema, line));
    } catch (error) {
      this.#onDamaged(error);
    }
  }
}
