/**
 * Windows as files, so that numbers, lists and segments survive `kill -9`: `{folder}/{channel}/{segment's name}`, and `window.json`, which names
 * them and is written last.
 *
 *   window ─ observed by ─► WindowFile: segments that have no file ─► window.json ─► files that it no longer names are removed
 *
 * Invariant: whatever `window.json` names was written before it; files are replaced by rename. Owned by the process that cuts.
 */

import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Clock } from '../base/clock.js';
import { decode } from '../metadata/codec.js';
import { type KeptWindow, keptSchema, MAX_INDEX_BYTES } from './hls-schema.js';
import type { HlsSegment } from './playlist.js';
import { readKept } from './rewind/kept-file.js';
import { numberOf } from './rewind/rewind-writer.js';
import type { Rewinds } from './rewind/rewinds.js';
import type { HlsWindow } from './window.js';
import { INDEX, type RewindLimitsOf, WindowFile } from './window-file.js';

export interface HlsFilesParts {
  readonly clock: Pick<Clock, 'now' | 'wallMs' | 'alarm'>;
  /** Called if a channel's files cannot be used; the channel begins anew. */
  onDamaged(channel: string, error: unknown): void;
  readonly rewinds: Rewinds;
}

/** A window as it was written. */
export interface ReadWindow extends Omit<KeptWindow, 'segments'> {
  readonly segments: readonly HlsSegment[];
}

/** A failed write, or one that succeeded only after the rewind gave up its oldest files. */
interface Fault {
  readonly reason: string;
  /** Whether the last write has failed. */
  isUnwritten: boolean;
  /** When it last occurred, monotonic milliseconds. */
  readonly lastMs: number;
}

/** How long a fault is reported after its last occurrence: a full disk has room for a segment now and then. */
const FAULT_MS = 60_000;

export class HlsFiles {
  readonly #folder: string;
  readonly #parts: HlsFilesParts;
  readonly #files = new Map<string, WindowFile>();
  /** The number of failed writes. */
  unwritten = 0;
  /** The last fault of each channel. */
  readonly #faults = new Map<string, Fault>();

  constructor(folder: string, parts: HlsFilesParts) {
    this.#folder = folder;
    this.#parts = parts;
  }

  /** Resolves with the window that the previous process has left; null if there is none, or it is damaged. Never rejects. */
  async read(channel: string): Promise<ReadWindow | null> {
    const folder = join(this.#folder, channel);
    try {
      const index = await readKept(join(folder, INDEX), MAX_INDEX_BYTES);
      const { segments, ...kept } = decode(keptSchema, index.toString());
      const read = segments.map(async ({ length, crc, initCrc, ...facts }): Promise<HlsSegment> => {
        const bytes = await readKept(join(folder, facts.name), length);
        if (bytes.length !== length || crc32(bytes) !== crc) throw new Error(`${facts.name} is not what was written`);
        const { init } = facts;
        if (init !== null && initCrc !== undefined && crc32(init.bytes) !== initCrc)
          throw new Error(`${init.name} is not what was written`);
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

  /** Resolves with the number of the last segment of a rewind; null if that is empty. Never rejects. */
  async lastRewound(channel: string): Promise<number | null> {
    const log = this.#parts.rewinds.log(channel);
    await log.read();
    return log.list.last === undefined ? null : numberOf(log.list.last);
  }

  /** Writes the window from now on, and its segments to the rewind. */
  keep(channel: string, window: HlsWindow, limits: RewindLimitsOf): void {
    const { clock, rewinds } = this.#parts;
    const log = rewinds.log(channel);
    const noted = (isUnwritten: boolean) => (error: unknown) => {
      if (isUnwritten) this.unwritten++;
      const { code, message } = error as NodeJS.ErrnoException;
      this.#faults.set(channel, { reason: code ?? message, isUnwritten, lastMs: clock.now() });
    };
    const onWritten = () => {
      const fault = this.#faults.get(channel);
      if (fault !== undefined) fault.isUnwritten = false;
    };
    this.#files.get(channel)?.close();
    const parts = { clock, log, limits, onWritten, onError: noted(true), onShort: noted(false) };
    this.#files.set(channel, new WindowFile(join(this.#folder, channel), window, parts));
  }

  /** Resolves when the window's present state is written (WindowFile); null if it is, or cannot be. Never rejects. */
  written(channel: string): Promise<void> | null {
    return this.#faults.get(channel)?.isUnwritten === true ? null : (this.#files.get(channel)?.written() ?? null);
  }

  /** The channels whose segments cannot be written, or in the last minute displaced the oldest of their rewind, with the reasons. */
  get faults(): ReadonlyMap<string, string> {
    const nowMs = this.#parts.clock.now();
    for (const [channel, { isUnwritten, lastMs }] of this.#faults)
      if (!isUnwritten && nowMs - lastMs >= FAULT_MS) this.#faults.delete(channel);
    return new Map([...this.#faults].map(([channel, { reason }]) => [channel, reason]));
  }

  /** Removes old segments from rewinds, whether new ones arrive or not. */
  trim(): void {
    for (const file of this.#files.values()) file.trim();
  }

  /** Called when the channel's window is replaced or gone. */
  leave(channel: string): void {
    this.#files.get(channel)?.close();
    this.#files.delete(channel);
    this.#faults.delete(channel);
    this.#parts.rewinds.forget(channel);
  }

  /** Removes the files of channels that no longer exist or have HLS. Never rejects. */
  async tidy(has: (channel: string) => boolean): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names) {
      // Windows that are being written remove old files themselves.
      if (!has(name) && !this.#files.has(name))
        await rm(join(this.#folder, name), { recursive: true, force: true }).catch(() => undefined);
    }
  }

  /** Resolves when everything is written. Never rejects. */
  async settled(): Promise<void> {
    await Promise.all([...this.#files.values()].map(({ work }) => work));
  }
}
