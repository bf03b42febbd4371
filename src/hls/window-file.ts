/**
 * Writes a channel's window to its folder, and its segments to the rewind: one write at a time, and one for all changes since the last.
 * Invariant: that of HlsFiles; a file exists as long as the window or the rewind has its name. Owned by HlsFiles.
 */

import { mkdir, readdir, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Clock } from '../base/clock.js';
import { encode } from '../metadata/codec.js';
import { INIT_NAME, type KeptWindow, type ListState, numbersOf, SEGMENT_NAME } from './hls-schema.js';
import type { HlsTitle } from './hls-title.js';
import type { HlsInit, HlsSegment } from './playlist.js';
import type { RewindLog } from './rewind/rewind-log.js';
import { type RewindLimits, RewindWriter } from './rewind/rewind-writer.js';
import type { HlsWindow, WindowObserver } from './window.js';

export const INDEX = 'window.json';
/** Suffix of a file that is not complete yet. */
const PART = '.part';
/** The most titles that wait for a log that cannot be written. */
const MAX_DUE = 1000;
/** On a full disk the rewind gives up this much at a time, or the size of two segments if that is more. */
const GIVEN_UP_BYTES = 256 * 1024;
/** Error codes of a full disk and of an exhausted quota. */
const FULL = ['ENOSPC', 'EDQUOT'];
/** The longest that an answer or a copy waits for a write, milliseconds. */
const WAIT_MS = 1000;

/** Returns the limits of a channel's rewind; null if it has none. */
export type RewindLimitsOf = () => RewindLimits | null;

export interface WindowFileParts {
  readonly clock: Pick<Clock, 'now' | 'wallMs' | 'alarm'>;
  readonly log: RewindLog;
  readonly limits: RewindLimitsOf;
  /** Called when everything is written. */
  onWritten(): void;
  /** Called when a write has failed. */
  onError(error: unknown): void;
  /** Called when the rewind has given up its oldest files for a write. */
  onShort(error: unknown): void;
}

/** The changes of a window that are not written yet. */
interface Saving {
  readonly work: Promise<void>;
  /** Since when some change has been waiting, monotonic milliseconds. */
  readonly sinceMs: number;
  /** Made on first use. */
  done: Promise<void> | null;
}

export class WindowFile implements WindowObserver {
  /** Resolves when all writes so far are done. */
  work: Promise<void> = Promise.resolve();
  readonly #folder: string;
  readonly #window: HlsWindow;
  readonly #parts: WindowFileParts;
  readonly #rewind: RewindWriter;
  /** Titles from this time on (Unix milliseconds) must still be logged. */
  #titlesMs = Number.NEGATIVE_INFINITY;
  /** Titles that wait for the log. */
  readonly #due: HlsTitle[] = [];
  /** The number of the first segment that the log may have. */
  #rewindsFrom = 0;
  /** Checksums of the segments that have a file, by name. */
  readonly #written = new Map<string, number>();
  /** Names of the initialization sections that were written for the rewind. */
  readonly #inits = new Set<string>();
  #isDue = false;
  #saving: Saving | null = null;
  #hasFolder = false;
  #isClosed = false;

  constructor(folder: string, window: HlsWindow, parts: WindowFileParts) {
    this.#folder = folder;
    this.#window = window;
    this.#parts = parts;
    this.#rewind = new RewindWriter(folder, parts.log, parts.clock);
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
    this.#rewind.close();
  }

  /** Resolves when the window's present state is written, at latest a second after changes began to wait; null: it is, or that time is over. */
  written(): Promise<void> | null {
    const saving = this.#saving;
    const { clock } = this.#parts;
    if (saving === null || clock.now() >= saving.sinceMs + WAIT_MS) return null;
    return (saving.done ??= new Promise((resolve) => {
      const alarm = clock.alarm(saving.sinceMs + WAIT_MS, { onAlarm: () => resolve() });
      void saving.work.then(() => {
        alarm.cancel();
        resolve();
      });
    }));
  }

  trim(): void {
    this.#work(async () => {
      const limits = this.#parts.limits();
      if (limits === null || !this.#hasFolder) return;
      await this.#rewind.trim(limits);
      await this.#removeDropped();
    });
  }

  /** Schedules one write for all changes until the previous write is done. */
  #write(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#work(() => {
      this.#isDue = false;
      return this.#save();
    });
    const saving = { work: this.work, sinceMs: this.#saving?.sinceMs ?? this.#parts.clock.now(), done: null };
    this.#saving = saving;
    void saving.work.then(() => {
      if (this.#saving === saving) this.#saving = null;
    });
  }

  #work(work: () => Promise<void>): void {
    this.work = this.work.then(() => (this.#isClosed ? undefined : work())).catch((error) => this.#onFailed(error));
  }

  /** If the folder is gone, removed by hand, the next write makes it, and all that belongs in it. */
  #onFailed(error: unknown): void {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      this.#hasFolder = false;
      for (const known of [this.#written, this.#inits]) known.clear();
      this.#titlesMs = Number.NEGATIVE_INFINITY;
    }
    this.#parts.onError(error);
  }

  async #save(): Promise<void> {
    const { state: list, lastNumber } = this.#window;
    // There was no segment so far.
    if (lastNumber === null) return;
    const [segments, titles] = [this.#window.segmentsFrom(0), this.#window.titlesFrom(Number.NEGATIVE_INFINITY)];
    const savedMs = this.#parts.clock.wallMs();
    this.#due.push(...titles.filter(({ startMs }) => startMs >= this.#titlesMs));
    this.#titlesMs = Number.POSITIVE_INFINITY;
    if (!this.#hasFolder) await this.#enterFolder();
    const names = new Set(segments.map(({ name }) => name));
    let fault: unknown = null;
    await this.#making(names, () => this.#putAll(segments)).catch((error) => void (fault = error));
    const facts = segments.map(({ bytes, ...rest }) => ({
      ...rest,
      length: bytes.length,
      crc: this.#written.get(rest.name)!,
      ...(rest.init === null ? {} : { initCrc: crc32(rest.init.bytes) }),
    }));
    const kept = { savedMs, lastNumber, list, titles, segments: facts } satisfies KeptWindow;
    const index = encode(fault === null ? kept : numbersOf(kept));
    await this.#making(names, () => this.#replace(INDEX, index));
    await this.#toRewind(names, segments, list);
    await this.#removeBut(names);
    if (fault !== null) throw fault;
    this.#parts.onWritten();
  }

  /** Runs `work`; while the disk is full, first removes files that no list names and then the oldest of the rewind, and tries again. */
  async #making(names: ReadonlySet<string>, work: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const isFull = FULL.includes((error as NodeJS.ErrnoException).code ?? '');
        if (!isFull || !(await this.#makeRoom(names, error))) throw error;
      }
    }
  }

  async #makeRoom(names: ReadonlySet<string>, error: unknown): Promise<boolean> {
    const { size } = this.#written;
    await this.#removeBut(names);
    if (this.#written.size < size) return true;
    const bytes = Math.max(GIVEN_UP_BYTES, 2 * (this.#window.last?.bytes.length ?? 0));
    const hasRoom = await this.#rewind.giveUp(bytes, (name) => names.has(name));
    if (hasRoom) this.#parts.onShort(error);
    return hasRoom;
  }

  /** Called after window.json is written, so that no process cuts the logged segments again. */
  async #toRewind(names: ReadonlySet<string>, all: readonly HlsSegment[], list: ListState): Promise<void> {
    const limits = this.#parts.limits();
    const titles = this.#due.splice(0);
    if (limits === null) {
      // A later rewind starts from then, with the title in force: what was played without one was not meant to be kept.
      this.#rewindsFrom = (this.#window.lastNumber ?? 0) + 1;
      this.#titlesMs = Number.NEGATIVE_INFINITY;
      if (!this.#parts.log.list.isEmpty) await this.#rewind.clear();
      return;
    }
    const { targetSeconds, discontinuitySequence } = list;
    const segments = all.filter(({ name, number }) => number >= this.#rewindsFrom && this.#written.has(name));
    const news = { segments, titles, targetSeconds, discontinuitySequence, checksums: this.#written };
    await this.#making(names, async () => {
      for (const { init } of segments) if (init !== null && !this.#inits.has(init.name)) await this.#putInit(init);
      await this.#rewind.take(news, limits);
    }).catch((error) => {
      this.#due.unshift(...titles.slice(-MAX_DUE));
      throw error;
    });
  }

  async #putInit({ name, bytes }: HlsInit): Promise<void> {
    await this.#replace(name, bytes);
    this.#inits.add(name);
  }

  /** Writes the segments that have no file yet. */
  async #putAll(segments: readonly HlsSegment[]): Promise<void> {
    for (const { name, bytes } of segments) {
      if (this.#written.has(name)) continue;
      await this.#putSegment(name, bytes);
      this.#written.set(name, crc32(bytes));
    }
  }

  async #removeBut(names: ReadonlySet<string>): Promise<void> {
    for (const name of [...this.#written.keys()].filter((each) => !names.has(each))) {
      this.#written.delete(name);
      if (!this.#rewind.has(name)) await rm(join(this.#folder, name), { force: true });
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

  /** Removes files that the previous process did not finish or remove. */
  async #enterFolder(): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await this.#parts.log.read();
    for (const entry of await readdir(this.#folder, { withFileTypes: true })) {
      const { name } = entry;
      const isFile = SEGMENT_NAME.test(name) || INIT_NAME.test(name);
      const isLeft = name.endsWith(PART) || (isFile && !this.#written.has(name) && !this.#rewind.has(name));
      // Anything but a file of that name would make each write fail.
      if (isLeft || (name === INDEX && !entry.isFile()))
        await rm(join(this.#folder, name), { recursive: true, force: true });
    }
    this.#hasFolder = true;
  }

  /** Needs no rename, since nothing refers to the file before it is complete. */
  async #putSegment(name: string, bytes: Buffer): Promise<void> {
    const path = join(this.#folder, name);
    try {
      await writeFile(path, bytes);
    } catch (error) {
      await unlink(path).catch(() => undefined);
      throw error;
    }
  }

  /** Replaces a file by rename, so that the old one stays complete until then. */
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
