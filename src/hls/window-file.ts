/**
 * Writes a channel's window to its folder, and what was in it to its rewind: one thing after the other, and once for all that has come meanwhile.
 *
 * Invariant: as HlsFiles has it; a file is there as long as the window or the rewind has its name. Owned by HlsFiles.
 */

import { mkdir, readdir, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Clock } from '../base/clock.js';
import { encode } from '../metadata/codec.js';
import { INIT_NAME, type KeptWindow, SEGMENT_NAME } from './hls-schema.js';
import type { HlsTitle } from './hls-title.js';
import type { HlsInit, HlsSegment } from './playlist.js';
import type { RewindLog } from './rewind/rewind-log.js';
import { type RewindLimits, RewindWriter } from './rewind/rewind-writer.js';
import type { HlsWindow, ListState, WindowObserver } from './window.js';

export const INDEX = 'window.json';
/** Of a file that is not whole yet. */
const PART = '.part';
/** Titles that wait for a log that cannot be written. */
const MAX_DUE = 1000;

/** What a channel's rewind may have; null: it has none. */
export type RewindLimitsOf = () => RewindLimits | null;

export interface WindowFileParts {
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: RewindLog;
  readonly limits: RewindLimitsOf;
  onError(error: unknown): void;
}

export class WindowFile implements WindowObserver {
  /** Resolves when what there was to write is written. */
  work: Promise<void> = Promise.resolve();
  readonly #folder: string;
  readonly #window: HlsWindow;
  readonly #parts: WindowFileParts;
  readonly #rewind: RewindWriter;
  /** Titles from here on are due in its log, unix milliseconds; and those that were. */
  #titlesMs = Number.NEGATIVE_INFINITY;
  readonly #due: HlsTitle[] = [];
  /** Names of segments that have a file, with its checksum. */
  readonly #written = new Map<string, number>();
  /** Names of what segments of the rewind need, where it was written. */
  readonly #inits = new Set<string>();
  #isDue = false;
  #hasFolder = false;
  #isClosed = false;

  constructor(folder: string, window: HlsWindow, parts: WindowFileParts) {
    this.#folder = folder;
    this.#window = window;
    this.#parts = parts;
    this.#rewind = new RewindWriter(folder, parts.log);
    for (const { name, bytes } of window.segmentsFrom(0)) this.#written.set(name, crc32(bytes));
    window.observe(this);
  }

  onSegment(): void {
    this.#write();
  }

  onTitles(fromMs: number): void {
    this.#titlesMs = Math.min(this.#titlesMs, fromMs);
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

  trim(): void {
    this.#work(async () => {
      const limits = this.#parts.limits();
      if (limits === null || !this.#hasFolder) return;
      await this.#rewind.trim(limits, this.#parts.clock.wallMs());
      await this.#removeDropped();
    });
  }

  /** Once for all that happens until the write before is done. */
  #write(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#work(() => {
      this.#isDue = false;
      return this.#save();
    });
  }

  #work(work: () => Promise<void>): void {
    this.work = this.work.then(() => (this.#isClosed ? undefined : work())).catch(this.#parts.onError);
  }

  async #save(): Promise<void> {
    const { state: list, lastNumber } = this.#window;
    // There never was any.
    if (lastNumber === null) return;
    const segments = this.#window.segmentsFrom(0);
    const titles = this.#window.titlesFrom(Number.NEGATIVE_INFINITY);
    const savedMs = this.#parts.clock.wallMs();
    this.#due.push(...titles.filter(({ startMs }) => startMs >= this.#titlesMs));
    this.#titlesMs = Number.POSITIVE_INFINITY;
    if (!this.#hasFolder) await this.#enterFolder();
    const names = new Set(segments.map(({ name }) => name));
    let fault = await this.#putAll(segments);
    if (fault !== null) {
      // A full disk has room again without what nobody lists any more.
      await this.#removeBut(names);
      fault = await this.#putAll(segments);
    }
    const facts = segments.map(({ bytes, ...rest }) => ({
      ...rest,
      length: bytes.length,
      crc: this.#written.get(rest.name)!,
    }));
    const kept = { savedMs, lastNumber, list, titles, segments: facts } satisfies KeptWindow;
    await this.#replace(INDEX, encode(fault === null ? kept : numbersOf(kept)));
    await this.#toRewind(segments, list);
    await this.#removeBut(names);
    if (fault !== null) throw fault;
  }

  /** Behind window.json: what it names is cut again by nobody. */
  async #toRewind(all: readonly HlsSegment[], list: ListState): Promise<void> {
    const limits = this.#parts.limits();
    const titles = this.#due.splice(0);
    if (limits === null) {
      // Where there is one again it has what the window has.
      this.#titlesMs = Number.NEGATIVE_INFINITY;
      if (!this.#parts.log.list.isEmpty) await this.#rewind.clear();
      return;
    }
    const { targetSeconds, discontinuitySequence } = list;
    const segments = all.filter(({ name }) => this.#written.has(name));
    for (const { init } of segments) if (init !== null && !this.#inits.has(init.name)) await this.#putInit(init);
    const news = { segments, titles, targetSeconds, discontinuitySequence, checksums: this.#written };
    await this.#rewind.take(news, limits, this.#parts.clock.wallMs()).catch((error) => {
      this.#due.unshift(...titles.slice(-MAX_DUE));
      throw error;
    });
  }

  async #putInit({ name, bytes }: HlsInit): Promise<void> {
    await this.#replace(name, bytes);
    this.#inits.add(name);
  }

  /** Those that have no file yet. @returns why one has none; null: each has */
  async #putAll(segments: readonly HlsSegment[]): Promise<unknown> {
    try {
      for (const { name, bytes } of segments) {
        if (this.#written.has(name)) continue;
        await this.#putSegment(name, bytes);
        this.#written.set(name, crc32(bytes));
      }
      return null;
    } catch (error) {
      return error;
    }
  }

  async #removeBut(names: ReadonlySet<string>): Promise<void> {
    for (const name of [...this.#written.keys()].filter((each) => !names.has(each))) {
      this.#written.delete(name);
      if (!this.#rewind.has(name)) await unlink(join(this.#folder, name));
    }
    await this.#removeDropped();
  }

  async #removeDropped(): Promise<void> {
    for (const name of this.#rewind.dropped()) {
      if (this.#written.has(name) || this.#rewind.has(name)) continue;
      this.#inits.delete(name);
      await rm(join(this.#folder, name), { force: true });
    }
  }

  /** What the process before this one did not finish, or did not remove, goes. */
  async #enterFolder(): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await this.#parts.log.read();
    for (const name of await readdir(this.#folder)) {
      const isFile = SEGMENT_NAME.test(name) || INIT_NAME.test(name);
      const isLeft = name.endsWith(PART) || (isFile && !this.#written.has(name) && !this.#rewind.has(name));
      if (isLeft) await unlink(join(this.#folder, name));
    }
    this.#hasFolder = true;
  }

  /** Nothing names it before it is whole. */
  async #putSegment(name: string, bytes: Buffer): Promise<void> {
    const path = join(this.#folder, name);
    try {
      await writeFile(path, bytes);
    } catch (error) {
      await unlink(path).catch(() => undefined);
      throw error;
    }
  }

  /** What has this name already stays whole until it is replaced. */
  async #replace(name: string, content: Buffer | string): Promise<void> {
    const path = join(this.#folder, name);
    try {
      await writeFile(path + PART, content);
      await rename(path + PART, path);
    } catch (error) {
      await unlink(path + PART).catch(() => undefined);
      throw error;
    }
  }
}

/** Of a window that could not be written whole: another process begins another list, with numbers above. */
function numbersOf({ savedMs, lastNumber, list, segments }: KeptWindow): KeptWindow {
  const left = segments.filter(({ number, isDiscontinuity }) => number >= list.from && isDiscontinuity).length;
  const discontinuitySequence = list.discontinuitySequence + left;
  const from = lastNumber === null ? 0 : lastNumber + 1;
  return { savedMs, lastNumber, list: { ...list, discontinuitySequence, from }, titles: [], segments: [] };
}
