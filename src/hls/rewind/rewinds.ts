/**
 * The rewinds of all channels, as this process serves them: lists, and files of segments that no window has any more. A log is read when it is asked
 * for, and forgotten when nobody has asked for ten minutes.
 *
 * Invariant: whatever is asked for, few files are read at a time, and each once for all who wait for it.
 */

import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Clock } from '../../base/clock.js';
import { MAX_INIT_BYTES } from '../hls-schema.js';
import type { ReadFile } from '../playlist.js';
import { readKept } from './kept-file.js';
import { RewindLog } from './rewind-log.js';

/** A list is not read, made and compressed more often, however often it changes. */
const FRESH_MS = 2000;
const UNASKED_MS = 600_000;
const MAX_READS = 8;

export interface RewindsParts {
  /** In which each channel has a folder. */
  readonly folder: string;
  readonly clock: Pick<Clock, 'now'>;
  /** A line, or a file, is left out. */
  onDamaged(channel: string, error: unknown): void;
}

interface Rewind {
  readonly log: RewindLog;
  /** The last reading, and when it began, monotonic milliseconds. */
  reading: Promise<void>;
  readMs: number;
  /** Since then. */
  playlist: string | null;
  askedMs: number;
}

export class Rewinds {
  readonly #parts: RewindsParts;
  readonly #rewinds = new Map<string, Rewind>();
  /** Files that are read or are to be, by channel and name. */
  readonly #files = new Map<string, Promise<ReadFile | undefined>>();
  #reads = 0;
  readonly #queue: (() => void)[] = [];

  constructor(parts: RewindsParts) {
    this.#parts = parts;
  }

  /** For who writes it: the same is served. */
  log(channel: string): RewindLog {
    const rewind = this.#of(channel);
    rewind.askedMs = Number.POSITIVE_INFINITY;
    return rewind.log;
  }

  /** Those that are written here. */
  get written(): { readonly channel: string; readonly bytes: number; readonly seconds: number }[] {
    return [...this.#rewinds].flatMap(
      ([
        channel,
        {
          askedMs,
          log: { list },
        },
      ]) =>
        askedMs === Number.POSITIVE_INFINITY && !list.isEmpty
          ? [{ channel, bytes: list.bytes, seconds: list.seconds }]
          : [],
    );
  }

  /** The media playlist; null: there is nothing to list. Never rejects. */
  async playlist(channel: string): Promise<string | null> {
    const rewind = await this.#read(channel);
    const { list } = rewind.log;
    return (rewind.playlist ??= list.isEmpty ? null : list.playlist);
  }

  /** A segment's file, or one that segments need; undefined: it is not there, or not what was written. Never rejects. */
  async file(channel: string, name: string): Promise<ReadFile | undefined> {
    const known = this.#rewinds.get(channel);
    const { log } = known?.log.list.has(name) === true ? known : await this.#read(channel);
    if (!log.list.has(name)) return undefined;
    const key = `${channel}/${name}`;
    let file = this.#files.get(key);
    if (file === undefined) {
      file = this.#inTurn(() => this.#readFile(channel, name, log)).finally(() => this.#files.delete(key));
      this.#files.set(key, file);
    }
    return await file;
  }

  /** Once a second. */
  tidy(nowMs: number): void {
    for (const [channel, { askedMs }] of this.#rewinds) if (nowMs - askedMs > UNASKED_MS) this.#rewinds.delete(channel);
  }

  /** The channel is gone. */
  forget(channel: string): void {
    this.#rewinds.delete(channel);
  }

  #of(channel: string): Rewind {
    let rewind = this.#rewinds.get(channel);
    if (rewind === undefined) {
      const { folder, onDamaged } = this.#parts;
      const log = new RewindLog(join(folder, channel), (error) => onDamaged(channel, error));
      const never = Number.NEGATIVE_INFINITY;
      rewind = { log, reading: Promise.resolve(), readMs: never, playlist: null, askedMs: never };
      this.#rewinds.set(channel, rewind);
    }
    return rewind;
  }

  /** As it was two seconds ago at most. */
  async #read(channel: string): Promise<Rewind> {
    const nowMs = this.#parts.clock.now();
    const rewind = this.#of(channel);
    rewind.askedMs = Math.max(rewind.askedMs, nowMs);
    if (nowMs - rewind.readMs >= FRESH_MS) {
      rewind.readMs = nowMs;
      rewind.playlist = null;
      rewind.reading = rewind.log.read();
    }
    await rewind.reading;
    return rewind;
  }

  async #readFile(channel: string, name: string, { list }: RewindLog): Promise<ReadFile | undefined> {
    try {
      const segment = list.segment(name);
      const bytes = await readKept(join(this.#parts.folder, channel, name), segment?.length ?? MAX_INIT_BYTES);
      if (segment !== undefined && (bytes.length !== segment.length || crc32(bytes) !== segment.crc))
        throw new Error(`${name} is not what was written`);
      return { name, bytes, isRead: true };
    } catch (error) {
      // It may have left the list meanwhile.
      if (list.has(name)) this.#parts.onDamaged(channel, error);
      return undefined;
    }
  }

  async #inTurn<T>(read: () => Promise<T>): Promise<T> {
    if (this.#reads >= MAX_READS) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#reads++;
    try {
      return await read();
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#reads--;
      else next();
    }
  }
}
