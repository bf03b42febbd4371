/**
 * The output of the log (log.ts) or the access log (app/app.ts). Node's thread pool writes the lines, so the event loop never waits. If the
 * reader does not take them, or the disk is slow or full, lines are lost and counted, while memory stays bounded.
 *
 *   write ─► pending (at most `bufferBytes`) ─flush─► one write at a time ─► file        reopen: after the pending lines
 */

import { write } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

const STDOUT = '-';
/** Pause before a write to a full pipe is retried, and the number of tries. */
const AGAIN_MS = 50;
const TRIES = 100;
/** Size of one write. */
const BATCH_CHARACTERS = 65_536;
const begin = promisify(write);

let underWay = 0;

/** Whether any output has a write under way. */
export function isWriting(): boolean {
  return underWay > 0;
}

/** Writes from `at` on. Resolves with the number of bytes written. */
async function writeTo(fd: number, bytes: Buffer, at: number): Promise<number> {
  underWay++;
  try {
    return (await begin(fd, bytes, at, bytes.length - at, null)).bytesWritten;
  } finally {
    underWay--;
  }
}

/** An open file, or a standard stream, which is never closed. */
interface LogTarget {
  readonly fd: number;
  close(): Promise<void>;
}

export interface OutputOptions {
  /** Maximum that waits to be written. */
  readonly bufferBytes: number;
  /** Called for each failed write or reopening. */
  onFailed(error: unknown): void;
  /** Called when lines are written again. @param lost number of lines lost meanwhile */
  onRecovered?(lost: number): void;
}

export class Output {
  /** Number of lines lost because writing was too slow or failed. */
  lost = 0;
  readonly #options: OutputOptions;
  readonly #open: () => Promise<LogTarget>;
  readonly #isEager: boolean;
  #target: LogTarget;
  #closed = false;
  /** Takes no more lines. */
  #isEnding = false;
  #pending: string[] = [];
  #pendingBytes = 0;
  #reopen = false;
  /** Number of lost lines that onRecovered has reported. */
  #reportedLost = 0;
  /** The write under way. */
  #writing: Promise<void> | null = null;

  private constructor(options: OutputOptions, target: LogTarget, open: () => Promise<LogTarget>, isEager: boolean) {
    this.#options = options;
    this.#target = target;
    this.#open = open;
    this.#isEager = isEager;
  }

  /**
   * Collects lines until `flush`. Rejects if the file cannot be opened.
   * @param file a path; `-`: standard output
   */
  static async to(file: string, options: OutputOptions): Promise<Output> {
    const open = () => openTarget(file);
    return new Output(options, await open(), open, false);
  }

  /** Writes lines at once, or right after the lines before them. */
  static toStandardError(options: OutputOptions): Output {
    const target = standard(2);
    return new Output(options, target, async () => target, true);
  }

  /** @param line without its line end */
  write(line: string): void {
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#isEnding || this.#pendingBytes + bytes > this.#options.bufferBytes) {
      this.lost++;
      return;
    }
    this.#pending.push(line);
    this.#pendingBytes += bytes;
    if (this.#isEager) this.flush();
  }

  /** Writes the collected lines. */
  flush(): void {
    if (this.#closed || this.#writing !== null || (this.#pending.length === 0 && !this.#reopen)) return;
    this.#writing = this.#run().finally(() => {
      this.#writing = null;
      if (this.#isEager) this.flush();
    });
  }

  /** For a file that was moved away: pending lines still go there, later ones into a new file of the same name. */
  reopen(): void {
    this.#reopen = true;
    this.flush();
  }

  /** Writes the lines so far, and takes no more. Idempotent. */
  async close(): Promise<void> {
    this.#isEnding = true;
    await this.#writing;
    this.flush();
    await this.#writing;
    if (this.#closed) return;
    this.#closed = true;
    await this.#target.close();
  }

  /** Writes the pending lines. Never rejects. Until a batch is written it is in memory, and counts as pending. */
  async #run(): Promise<void> {
    const lines = this.#pending;
    const reopens = this.#reopen;
    this.#pending = [];
    this.#reopen = false;
    for (let at = 0; at < lines.length; ) {
      let characters = 0;
      const first = at;
      while (at < lines.length && characters < BATCH_CHARACTERS) characters += lines[at++]!.length + 1;
      const batch = lines.slice(first, at);
      const bytes = Buffer.from(`${batch.join('\n')}\n`);
      try {
        await this.#writeAll(bytes);
        this.#recovered();
      } catch (error) {
        this.lost += batch.length;
        this.#options.onFailed(error);
      }
      this.#pendingBytes -= bytes.length;
    }
    if (reopens) await this.#openAnew();
  }

  #recovered(): void {
    if (this.lost === this.#reportedLost) return;
    const lost = this.lost - this.#reportedLost;
    this.#reportedLost = this.lost;
    this.#options.onRecovered?.(lost);
  }

  async #writeAll(bytes: Buffer): Promise<void> {
    let tries = 0;
    for (let at = 0; at < bytes.length; ) {
      try {
        at += await writeTo(this.#target.fd, bytes, at);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || ++tries === TRIES) throw error;
        await wait(AGAIN_MS);
      }
    }
  }

  /** If that fails, the old file stays in use. */
  async #openAnew(): Promise<void> {
    try {
      const old = this.#target;
      this.#target = await this.#open();
      await old.close();
    } catch (error) {
      this.#options.onFailed(error);
    }
  }
}

function openTarget(file: string): Promise<LogTarget> {
  return file === STDOUT ? Promise.resolve(standard(1)) : open(file, 'a', 0o640);
}

function standard(fd: number): LogTarget {
  return { fd, close: async () => undefined };
}
