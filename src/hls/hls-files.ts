/**
 * Windows as files, so that numbers, lists and segments survive `kill -9`: `{folder}/{channel}/{segment's name}` and `window.json`, which names them and is
 * written last.
 *
 *   window ─ observed by ─► WindowFile: segments that have no file ─► window.json ─► files that it no longer names are removed
 *
 * Invariant: whatever `window.json` names has been written before it; a file that another takes the place of is replaced by rename. Owned by the
 * process that cuts.
 */

import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Clock } from '../base/clock.js';
import { decode } from '../metadata/codec.js';
import { type KeptWindow, keptSchema } from './hls-schema.js';
import type { HlsSegment } from './playlist.js';
import { numberOf } from './rewind/rewind-writer.js';
import type { Rewinds } from './rewind/rewinds.js';
import type { HlsWindow } from './window.js';
import { INDEX, type RewindLimitsOf, WindowFile } from './window-file.js';

export interface HlsFilesParts {
  readonly clock: Pick<Clock, 'wallMs'>;
  /** What is there cannot be used: the channel begins anew. */
  onDamaged(channel: string, error: unknown): void;
  /** It cannot be written: what is in memory is served on. */
  onUnwritten(channel: string, error: unknown): void;
  readonly rewinds: Rewinds;
}

/** What a window was when it was written. */
export interface ReadWindow extends Omit<KeptWindow, 'segments'> {
  readonly segments: readonly HlsSegment[];
}

export class HlsFiles {
  readonly #folder: string;
  readonly #parts: HlsFilesParts;
  readonly #files = new Map<string, WindowFile>();
  /** How often something could not be written. */
  unwritten = 0;

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

  /** The number of the last segment of a rewind; null: there is none. Never rejects. */
  async lastRewound(channel: string): Promise<number | null> {
    const log = this.#parts.rewinds.log(channel);
    await log.read();
    return log.list.last === undefined ? null : numberOf(log.list.last);
  }

  /** From here on what the window holds is written, and what was in it is kept for its rewind. */
  keep(channel: string, window: HlsWindow, limits: RewindLimitsOf): void {
    const { clock, rewinds } = this.#parts;
    const log = rewinds.log(channel);
    const onError = (error: unknown) => {
      this.unwritten++;
      this.#parts.onUnwritten(channel, error);
    };
    this.#files.get(channel)?.close();
    this.#files.set(channel, new WindowFile(join(this.#folder, channel), window, { clock, log, limits, onError }));
  }

  /** Of rewinds what is too old goes, whether anything comes or not. */
  trim(): void {
    for (const file of this.#files.values()) file.trim();
  }

  /** The window is another one, or gone. */
  leave(channel: string): void {
    this.#files.get(channel)?.close();
    this.#files.delete(channel);
    this.#parts.rewinds.forget(channel);
  }

  /** Removes what channels have left that are no more, or have no HLS any more: nobody is given it. Never rejects. */
  async tidy(has: (channel: string) => boolean): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names) {
      // What is kept now removes by itself what is not asked for any more.
      if (!has(name) && !this.#files.has(name))
        await rm(join(this.#folder, name), { recursive: true, force: true }).catch(() => undefined);
    }
  }

  /** Resolves when all is written. Never rejects. */
  async settled(): Promise<void> {
    await Promise.all([...this.#files.values()].map(({ work }) => work));
  }
}
