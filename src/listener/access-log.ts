/**
 * The access log's file, or standard output: lines are collected and written about once a second, by the system's threads and never
 * by the event loop. A disk that is slow or full costs lines, which are counted, never memory or time.
 *
 *   write ─► pending (at most `bufferBytes`) ─flush─► one write at a time ─► file        reopen: after what was pending went out
 *
 * Owned by app.ts: opened before anybody listens, closed after the last connection.
 */

import { write } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

const STDOUT = '-';
/** A pipe that takes nothing for the moment is tried again so often, so many times. */
const AGAIN_MS = 50;
const TRIES = 100;
/** What is put into one write. */
const BATCH_BYTES = 65_536;
const writeTo = promisify(write);

/** An open file, or standard output, which is never closed. */
interface Target {
  readonly fd: number;
  close(): Promise<void>;
}

export interface AccessLogOptions {
  /** A path; `-`: standard output. */
  readonly file: string;
  /** How much may wait to be written. */
  readonly bufferBytes: number;
  /** Told of each write or reopening that failed, and of lines that were lost. */
  failed(error: unknown): void;
}

export class AccessLog {
  /** Lines that were lost because writing was too slow, or failed. */
  lost = 0;
  readonly #options: AccessLogOptions;
  #target: Target;
  #closed = false;
  #pending: string[] = [];
  #pendingBytes = 0;
  #reopen = false;
  /** What is being written; resolves when nothing is any more. */
  #writing: Promise<void> | null = null;

  private constructor(options: AccessLogOptions, target: Target) {
    this.#options = options;
    this.#target = target;
  }

  /** Rejects when the file cannot be opened. */
  static async open(options: AccessLogOptions): Promise<AccessLog> {
    return new AccessLog(options, await openTarget(options.file));
  }

  /** @param line without its line end, ASCII */
  write(line: string): void {
    if (this.#closed || this.#pendingBytes + line.length + 1 > this.#options.bufferBytes) {
      this.lost++;
      return;
    }
    this.#pending.push(line);
    this.#pendingBytes += line.length + 1;
  }

  /** Writes what has collected; called about once a second. */
  flush(): void {
    if (this.#closed || this.#writing !== null || (this.#pending.length === 0 && !this.#reopen)) return;
    this.#writing = this.#run().finally(() => {
      this.#writing = null;
    });
  }

  /** The file was moved away: what has collected still goes there, what comes from now on into a new one of the same name. */
  reopen(): void {
    this.#reopen = true;
    this.flush();
  }

  /** Writes the last lines. Idempotent. */
  async close(): Promise<void> {
    await this.#writing;
    this.flush();
    await this.#writing;
    if (this.#closed) return;
    this.#closed = true;
    await this.#target.close();
  }

  /** Never rejects. What is being written counts as waiting until it is out: it is in memory. */
  async #run(): Promise<void> {
    const lines = this.#pending;
    const reopens = this.#reopen;
    this.#pending = [];
    this.#reopen = false;
    for (let at = 0; at < lines.length; ) {
      let bytes = 0;
      const first = at;
      while (at < lines.length && bytes < BATCH_BYTES) bytes += lines[at++]!.length + 1;
      const batch = lines.slice(first, at);
      try {
        await this.#writeAll(Buffer.from(`${batch.join('\n')}\n`, 'latin1'));
      } catch (error) {
        this.lost += batch.length;
        this.#options.failed(error);
      }
      this.#pendingBytes -= bytes;
    }
    if (reopens) await this.#openAnew();
  }

  async #writeAll(bytes: Buffer): Promise<void> {
    let tries = 0;
    for (let at = 0; at < bytes.length; ) {
      try {
        const { bytesWritten } = await writeTo(this.#target.fd, bytes, at, bytes.length - at, null);
        at += bytesWritten;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || ++tries === TRIES) throw error;
        await wait(AGAIN_MS);
      }
    }
  }

  /** Where that fails the old file goes on: better there than nowhere. */
  async #openAnew(): Promise<void> {
    try {
      const old = this.#target;
      this.#target = await openTarget(this.#options.file);
      await old.close();
    } catch (error) {
      this.#options.failed(error);
    }
  }
}

function openTarget(file: string): Promise<Target> {
  return file === STDOUT ? Promise.resolve({ fd: 1, close: async () => undefined }) : open(file, 'a', 0o640);
}
