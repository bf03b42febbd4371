/**
 * Windows as files, so that numbers, lists and segments survive `kill -9`: `{folder}/{channel}/{segment's name}` and `window.json`, which names them and is
 * written last.
 *
 *   window ─ observed by ─► WindowFile: segments that have no file ─► window.json ─► files that it no longer names are removed
 *
 * Invariant: whatever `window.json` names has been written before it, each file whole (write, rename). Owned by the process that cuts.
 */

import { mkdir, readdir, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Clock } from '../base/clock.js';
import { decode, encode } from '../metadata/codec.js';
import { type KeptWindow, keptSchema, SEGMENT_NAME } from './hls-schema.js';
import type { HlsSegment } from './playlist.js';
import type { HlsWindow, WindowObserver } from './window.js';

const INDEX = 'window.json';
/** Of a file that is not whole yet. */
const PART = '.part';

export interface HlsFilesParts {
  readonly clock: Pick<Clock, 'wallMs'>;
  /** What is there cannot be used: the channel begins anew. */
  onDamaged(channel: string, error: unknown): void;
  /** It cannot be written: what is in memory is served on. */
  onUnwritten(channel: string, error: unknown): void;
}

/** What a window was when it was written. */
export interface ReadWindow extends Omit<KeptWindow, 'segments'> {
  readonly segments: readonly HlsSegment[];
}

export class HlsFiles {
  readonly #folder: string;
  readonly #parts: HlsFilesParts;
  readonly #files = new Map<string, WindowFile>();

  constructor(folder: string, parts: HlsFilesParts) {
    this.#folder = folder;
    this.#parts = parts;
  }

  /** What a channel's window held when the process before this one ended; null: nothing, or it is damaged. Never rejects. */
  async read(channel: string): Promise<ReadWindow | null> {
    const folder = join(this.#folder, channel);
    try {
      const { segments, ...kept } = decode<KeptWindow>(keptSchema, await readFile(join(folder, INDEX), 'utf8'));
      const read = segments.map(async ({ length, crc, ...facts }): Promise<HlsSegment> => {
        const bytes = await readFile(join(folder, facts.name));
        if (bytes.length !== length || crc32(bytes) !== crc) throw new Error(`${facts.name} is not what was written`);
        return { ...facts, bytes };
      });
      return { ...kept, segments: await Promise.all(read) };
    } catch (error) {
      if (
        (error as NodeJS.ErrnoException).code !== 'ENOENT' ||
        (error as NodeJS.ErrnoException).path?.endsWith(INDEX) !== true
      )
        this.#parts.onDamaged(channel, error);
      return null;
    }
  }

  /** From here on what the window holds is written. */
  keep(channel: string, window: HlsWindow): void {
    const file = new WindowFile(join(this.#folder, channel), window, this.#parts.clock, (error) =>
      this.#parts.onUnwritten(channel, error),
    );
    this.#files.get(channel)?.close();
    this.#files.set(channel, file);
  }

  /** The window is another one, or gone. */
  leave(channel: string): void {
    this.#files.get(channel)?.close();
    this.#files.delete(channel);
  }

  /** Removes what channels have left that are no more. Never rejects. */
  async tidy(has: (channel: string) => boolean): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names) {
      if (!has(name)) await rm(join(this.#folder, name), { recursive: true, force: true }).catch(() => undefined);
    }
  }

  /** Resolves when all is written. Never rejects. */
  async settled(): Promise<void> {
    await Promise.all([...this.#files.values()].map(({ work }) => work));
  }
}

class WindowFile implements WindowObserver {
  /** Resolves when what there was to write is written. */
  work: Promise<void> = Promise.resolve();
  readonly #folder: string;
  readonly #window: HlsWindow;
  readonly #clock: Pick<Clock, 'wallMs'>;
  readonly #onError: (error: unknown) => void;
  /** Names of segments that have a file, with its checksum. */
  readonly #written = new Map<string, number>();
  #isDue = false;
  #hasFolder = false;
  #isClosed = false;

  constructor(folder: string, window: HlsWindow, clock: Pick<Clock, 'wallMs'>, onError: (error: unknown) => void) {
    this.#folder = folder;
    this.#window = window;
    this.#clock = clock;
    this.#onError = onError;
    for (const { name, bytes } of window.segmentsFrom(0)) this.#written.set(name, crc32(bytes));
    window.observe(this);
  }

  onSegment(): void {
    this.#write();
  }

  onTitles(): void {
    this.#write();
  }

  onList(): void {
    this.#write();
  }

  onCleared(): void {
    this.#write();
  }

  close(): void {
    this.#isClosed = true;
    this.#window.unobserve(this);
  }

  /** Once for all that happens until the write before is done. */
  #write(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.work = this.work.then(() => {
      this.#isDue = false;
      return this.#isClosed ? undefined : this.#save().catch(this.#onError);
    });
  }

  async #save(): Promise<void> {
    const { state: list, lastNumber } = this.#window;
    // There never was any.
    if (lastNumber === null) return;
    const segments = this.#window.segmentsFrom(0);
    const titles = this.#window.titlesFrom(Number.NEGATIVE_INFINITY);
    const savedMs = this.#clock.wallMs();
    if (!this.#hasFolder) await this.#enterFolder();
    for (const { name, bytes } of segments) {
      if (this.#written.has(name)) continue;
      await this.#put(name, bytes);
      this.#written.set(name, crc32(bytes));
    }
    const facts = segments.map(({ bytes, ...rest }) => ({
      ...rest,
      length: bytes.length,
      crc: this.#written.get(rest.name)!,
    }));
    await this.#put(INDEX, encode({ savedMs, lastNumber, list, titles, segments: facts } satisfies KeptWindow));
    const names = new Set(segments.map(({ name }) => name));
    for (const name of [...this.#written.keys()].filter((each) => !names.has(each))) {
      this.#written.delete(name);
      await unlink(join(this.#folder, name));
    }
  }

  /** What the process before this one did not finish, or did not remove, goes. */
  async #enterFolder(): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    for (const name of await readdir(this.#folder)) {
      const isLeft = name.endsWith(PART) || (SEGMENT_NAME.test(name) && !this.#written.has(name));
      if (isLeft) await unlink(join(this.#folder, name));
    }
    this.#hasFolder = true;
  }

  async #put(name: string, content: Buffer | string): Promise<void> {
    const path = join(this.#folder, name);
    await writeFile(path + PART, content);
    await rename(path + PART, path);
  }
}
