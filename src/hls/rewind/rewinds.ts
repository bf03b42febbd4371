/**
 * The rewinds of all channels that this process serves: lists, and files of segments that no window has any more. A log is read when it is requested,
 * and dropped ten minutes after the last request.
 *
 * Invariant: few files are read at a time, and each only once for all requests that wait for it.
 */

import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Clock } from '../../base/clock.js';
import { MAX_INIT_BYTES } from '../hls-schema.js';
import type { ReadFile } from '../playlist.js';
import { readKept } from './kept-file.js';
import { RewindLog } from './rewind-log.js';

/** A list is read, made and compressed at most once in this time, however often it changes. */
const FRESH_MS = 2000;
const UNASKED_MS = 600_000;
const MAX_READS = 8;

export interface RewindsParts {
  /** Has a folder for each channel. */
  readonly folder: string;
  readonly clock: Pick<Clock, 'now'>;
  /** Called for each line or file that is skipped. */
  onDamaged(channel: string, error: unknown): void;
}

interface Rewind {
  readonly log: RewindLog;
  /** The last read of the log. */
  reading: Promise<void>;
  /** When it began, monotonic milliseconds. */
  readMs: number;
  /** Made from that read on first use. */
  playlist: string | null;
  askedMs: number;
}

export class Rewinds {
  readonly #parts: RewindsParts;
  readonly #rewinds = new Map<string, Rewind>();
  /** Files that are being read or waiting for it, by channel and name. */
  readonly #files = new Map<string, Promise<ReadFile | undefined>>();
  #reads = 0;
  readonly #queue: (() => void)[] = [];

  constructor(parts: RewindsParts) {
    this.#parts = parts;
  }

  /** Returns the log for its writer; the same one is served. */
  log(channel: string): RewindLog {
    const rewind = this.#of(channel);
    rewind.askedMs = Number.POSITIVE_INFINITY;
    return rewind.log;
  }

  /** The rewinds that this process writes, with the bytes and seconds of their lists. */
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

  /** Resolves with the media playlist; null if the list is empty. Never rejects. */
  async playlist(channel: string): Promise<string | null> {
    const rewind = await this.#read(channel);
    const { list } = rewind.log;
    return (rewind.playlist ??= list.isEmpty ? null : list.playlist);
  }

  /** Resolves with the file of a segment or initialization section; undefined if it is missing or damaged. Never rejects. */
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

  /** Called once a second. */
  tidy(nowMs: number): void {
    for (const [channel, { askedMs }] of this.#rewinds) if (nowMs - askedMs > UNASKED_MS) this.#rewinds.delete(channel);
  }

  /** Called when the channel is gone. */
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

  /** Resolves with the channel's rewind as it was at most FRESH_MS ago. */
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
      const crc = segment?.crc ?? list.initCrc(name);
      if ((segment !== undefined && bytes.length !== segment.length) || (crc !== undefined && crc32(bytes) !== crc))
        throw new Error(`${name} is not what was written`);
      return { name, bytes, isRead: true };
    } catch (error) {
      // A file that left the list meanwhile may be gone.
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
