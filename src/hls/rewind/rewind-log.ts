/**
 * The log of a channel's rewind: files of lines (RewindLine) in `{channel}/rewind`, each named by its first media sequence number. A line is appended
 * for each segment and title, so that a segment costs the same however long the rewind; the oldest files are removed with their segments.
 *
 *   1700.jsonl  1956.jsonl  2212.jsonl        the process that cuts or copies appends; it and all that serve the channel read the new lines
 *
 * Invariants: only complete lines are read; a file ends when there is a later one; lines and files that cannot be read are skipped.
 */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { decode } from '../../metadata/codec.js';
import { MAX_KEPT, rewindSchema } from '../hls-schema.js';
import { openKept } from './kept-file.js';
import { RewindList } from './rewind-list.js';

/** The log's folder within the channel's. */
export const LOG_FOLDER = 'rewind';
const CHUNK = /^(\d{1,15})\.jsonl$/;
/** The bytes of lines that are read in one turn of the event loop; no line is longer. */
const TURN_BYTES = 256 * 1024;

export function chunkPath(folder: string, first: number): string {
  return join(folder, LOG_FOLDER, `${first}.jsonl`);
}

export class RewindLog {
  readonly list = new RewindList();
  /** The first numbers of the files, in order. */
  chunks: readonly number[] = [];
  readonly #folder: string;
  readonly #onDamaged: (error: unknown) => void;
  /** The file that was read last. */
  #chunk: number | null = null;
  /** The offset up to which it was read. */
  #offset = 0;
  /** Resolves when all reads so far are done. */
  #reading: Promise<void> = Promise.resolve();

  /** @param folder the channel's @param onDamaged called for each line or file that is skipped */
  constructor(folder: string, onDamaged: (error: unknown) => void) {
    this.#folder = folder;
    this.#onDamaged = onDamaged;
  }

  /** Reads what was appended since. Never rejects. */
  read(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read()).catch(this.#onDamaged);
    return this.#reading;
  }

  async #read(): Promise<void> {
    const entries = await readdir(join(this.#folder, LOG_FOLDER), { withFileTypes: true }).catch(() => []);
    const chunks = entries
      .flatMap((entry) => (entry.isFile() && CHUNK.test(entry.name) ? [Number.parseInt(entry.name, 10)] : []))
      // A higher number would stay ahead of all later files.
      .filter((chunk) => chunk <= MAX_KEPT);
    this.chunks = chunks.sort((a, b) => a - b);
    // The log has begun anew, or its next unread line is already removed.
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
        // A longer line was not written by this server: it is skipped in pieces.
        if (end === 0 && bytesRead === TURN_BYTES) end = bytesRead;
        for (const line of buffer.toString('utf8', 0, end).split('\n')) if (line !== '') this.#take(line);
      }
    } finally {
      await file.close();
    }
  }

  #take(line: string): void {
    try {
      this.list.take(decode(rewindSchema, line));
    } catch (error) {
      this.#onDamaged(error);
    }
  }
}
