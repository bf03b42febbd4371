/**
 * Writes the log of a channel's rewind: segments of its window once they have a file, titles, and where the list begins, by hours and bytes. Owned by
 * the channel's WindowFile (window-file.ts), which makes one write at a time.
 */

import { appendFile, mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Clock } from '../../base/clock.js';
import { SteadyTime } from '../../base/steady-time.js';
import { type HlsOptions, MAX_REWIND_SEGMENTS } from '../../config/hls-config.js';
import { encode } from '../../metadata/codec.js';
import type { RewindLine, RewindSegment } from '../hls-schema.js';
import type { HlsSegment, Listing } from '../playlist.js';
import { chunkPath, LOG_FOLDER, type RewindLog } from './rewind-log.js';

/** When a file of the log is full. */
const [CHUNK_SEGMENTS, CHUNK_BYTES] = [256, 256 * 1024];
const HOUR_MS = 3_600_000;

export type RewindLimits = Pick<HlsOptions, 'rewindHours' | 'rewindBytes'>;

/** New segments and titles of a window; segments that the log already has are skipped. */
export interface RewindNews extends Listing {
  /** The checksum of each file, by name. */
  readonly checksums: ReadonlyMap<string, number>;
}

export class RewindWriter {
  /** It writes no more: another writer may have the log. */
  readonly close: () => void;
  readonly #folder: string;
  readonly #log: RewindLog;
  /** By which segments grow old: a wall clock that jumps ahead removes nothing. */
  readonly #time: SteadyTime;
  /** Files that the list no longer needs. */
  #dropped: string[] = [];
  /** The log file that is written. */
  #chunk: number | null = null;
  /** Its length. */
  #chunkBytes = 0;
  /** Whether its last line may be incomplete. */
  #isTorn = true;
  /** The sequence number before which all files are removed. */
  #goneTo = 0;

  /** @param folder the channel's @param log which was read before */
  constructor(folder: string, log: RewindLog, clock: Pick<Clock, 'now' | 'wallMs'>) {
    this.#folder = folder;
    this.#log = log;
    this.#time = new SteadyTime(clock);
    this.close = log.list.onDropped((name) => this.#dropped.push(name));
  }

  has(name: string): boolean {
    return this.#log.list.has(name);
  }

  /** Returns the files that were dropped since the last call. */
  dropped(): readonly string[] {
    return this.#dropped.splice(0);
  }

  async take(news: RewindNews, limits: RewindLimits): Promise<void> {
    const lines: RewindLine[] = news.titles.map((title) => ({ title }));
    let { last } = this.#log.list;
    for (const segment of news.segments) {
      if (last !== undefined && segment.number <= numberOf(last)) continue;
      const next = this.#next(segment, last, news);
      lines.push({ segment: next });
      // Within a list TARGETDURATION cannot change and EXT-X-MAP cannot be revoked, so another list begins.
      const isOther = last !== undefined && (last.targetSeconds !== next.targetSeconds || !last.init !== !next.init);
      if (isOther) lines.push({ from: next.sequence });
      last = next;
    }
    await this.#append(lines);
    await this.trim(limits);
  }

  /** Removes segments from the list that are too old or exceed the limit of bytes. */
  async trim({ rewindHours, rewindBytes }: RewindLimits): Promise<void> {
    const { list, chunks } = this.#log;
    const { last } = list;
    if (last === undefined) return;
    const nowMs = this.#time.ms();
    let { bytes } = list;
    let from = Math.max(list.from, this.#goneTo);
    for (; from < last.sequence; from++) {
      const { startMs, micros, length } = list.at(from)!;
      const isOver = startMs + micros / 1000 < nowMs - rewindHours * HOUR_MS || bytes > rewindBytes;
      if (!isOver && last.sequence - from < MAX_REWIND_SEGMENTS) break;
      bytes -= length;
    }
    await this.#begin(from);
    for (const [i, chunk] of chunks.entries()) {
      if (chunks[i + 1] === undefined || chunks[i + 1]! > list.oldest!.sequence) break;
      await rm(chunkPath(this.#folder, chunk), { force: true });
    }
  }

  /**
   * Removes the oldest files because the disk is full, at least `bytes` of them, beginning with those that have left the list.
   * @param isKept whether a window has the file @returns false if no file can be removed
   */
  async giveUp(bytes: number, isKept: (name: string) => boolean): Promise<boolean> {
    const { list } = this.#log;
    const { oldest, last } = list;
    if (oldest === undefined || last === undefined) return false;
    const names: string[] = [];
    let [from, leftBytes] = [Math.max(oldest.sequence, this.#goneTo), bytes];
    for (; from < last.sequence && leftBytes > 0; from++) {
      const { name, length } = list.at(from)!;
      if (isKept(name)) break;
      names.push(name);
      leftBytes -= length;
    }
    if (names.length === 0) return false;
    this.#goneTo = from;
    // If the disk has no room even for a line, the line follows once the files are gone.
    const isSaid = await this.#begin(from).catch(() => false);
    for (const name of names) await rm(join(this.#folder, name), { force: true });
    if (!isSaid) await this.#begin(from);
    return true;
  }

  /** Removes the log. */
  async clear(): Promise<void> {
    await rm(join(this.#folder, LOG_FOLDER), { recursive: true, force: true });
    this.#chunk = null;
    this.#goneTo = 0;
    await this.#log.read();
    this.#log.list.clear();
  }

  /** Logs where the list begins. */
  async #begin(from: number): Promise<true> {
    if (from > this.#log.list.from) await this.#append([{ from }]);
    return true;
  }

  #next(segment: HlsSegment, last: RewindSegment | undefined, news: RewindNews): RewindSegment {
    const { number, name, init, startMs, micros, bytes } = segment;
    // Segments in between did not arrive here.
    const isDiscontinuity = segment.isDiscontinuity || (last !== undefined && number !== numberOf(last) + 1);
    return {
      sequence: last === undefined ? number : last.sequence + 1,
      name,
      init: init?.name ?? null,
      ...(init === null ? {} : { initCrc: crc32(init.bytes) }),
      startMs,
      micros,
      isDiscontinuity,
      discontinuities: (last?.discontinuities ?? news.discontinuitySequence) + (isDiscontinuity ? 1 : 0),
      // The segment may have been cut before TARGETDURATION changed.
      targetSeconds: Math.max(news.targetSeconds, Math.round(micros / 1e6)),
      length: bytes.length,
      crc: news.checksums.get(name)!,
    };
  }

  /** Appends lines to the log. Resolves when they are in the list. */
  async #append(lines: readonly RewindLine[]): Promise<void> {
    if (lines.length === 0) return;
    // Its files were removed by hand: the log begins anew.
    if (this.#log.chunks.length === 0) this.#chunk = null;
    const { list } = this.#log;
    const next = list.last === undefined ? firstOf(lines) : list.last.sequence + 1;
    // Without a segment there is nothing to list yet.
    if (next === null) return;
    const isFull = this.#chunkBytes > CHUNK_BYTES || (this.#chunk !== null && next - this.#chunk >= CHUNK_SEGMENTS);
    try {
      if (this.#chunk === null || isFull) await this.#beginChunk(next, lines);
      else await this.#write(lines);
    } finally {
      // A failed write may have appended some lines.
      await this.#log.read();
    }
  }

  /** Begins a file, and repeats the title in force in it, since earlier files are removed. */
  async #beginChunk(next: number, lines: readonly RewindLine[]): Promise<void> {
    const { list, chunks } = this.#log;
    const last = chunks.at(-1);
    const isFirst = this.#chunk === null;
    await mkdir(join(this.#folder, LOG_FOLDER), { recursive: true });
    this.#chunk = isFirst && last !== undefined ? last : next;
    const size = await stat(chunkPath(this.#folder, this.#chunk)).catch(() => null);
    this.#chunkBytes = size?.size ?? 0;
    const { startMs, micros } = list.last ?? { startMs: 0, micros: 0 };
    const titles = list.titlesFrom(startMs + micros / 1000).map((title): RewindLine => ({ title }));
    await this.#write(size === null ? [...titles, ...lines] : lines);
  }

  async #write(lines: readonly RewindLine[]): Promise<void> {
    const text = `${this.#isTorn ? '\n' : ''}${lines.map((line) => `${encode(line)}\n`).join('')}`;
    // Until the write succeeds.
    this.#isTorn = true;
    await appendFile(chunkPath(this.#folder, this.#chunk!), text);
    this.#isTorn = false;
    this.#chunkBytes += Buffer.byteLength(text);
  }
}

/** Returns a segment's number in the live list. */
export function numberOf({ name }: RewindSegment): number {
  return Number.parseInt(name, 10);
}

function firstOf(lines: readonly RewindLine[]): number | null {
  return lines.find(({ segment }) => segment !== undefined)?.segment?.sequence ?? null;
}
