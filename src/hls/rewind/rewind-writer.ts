/**
 * Writes the log of a channel's rewind: what has come into its window, once that has its file; where the list begins, by hours and bytes. Owned by
 * the channel's WindowFile (window-file.ts), which writes one thing after the other.
 */

import { appendFile, mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type HlsOptions, MAX_REWIND_SEGMENTS } from '../../config/hls-config.js';
import { encode } from '../../metadata/codec.js';
import type { RewindLine, RewindSegment } from '../hls-schema.js';
import type { HlsTitle } from '../hls-title.js';
import type { HlsSegment } from '../playlist.js';
import { chunkPath, LOG_FOLDER, type RewindLog } from './rewind-log.js';

/** Of one file of the log. */
const [CHUNK_SEGMENTS, CHUNK_BYTES] = [256, 256 * 1024];
const HOUR_MS = 3_600_000;

export type RewindLimits = Pick<HlsOptions, 'rewindHours' | 'rewindBytes'>;

/** What has come into a window. */
export interface RewindNews {
  /** In order; those that the log has are left out. */
  readonly segments: readonly HlsSegment[];
  readonly titles: readonly HlsTitle[];
  readonly targetSeconds: number;
  /** Of the first list: EXT-X-DISCONTINUITY-SEQUENCE. */
  readonly discontinuitySequence: number;
  /** The checksum of each file. */
  readonly checksums: ReadonlyMap<string, number>;
}

export class RewindWriter {
  readonly #folder: string;
  readonly #log: RewindLog;
  /** Files that the list does not need any more. */
  #dropped: string[] = [];
  /** The file of the log, its length, and whether a line may be torn there. */
  #chunk: number | null = null;
  #chunkBytes = 0;
  #isTorn = true;
  /** Of segments before this one there is no file any more. */
  #goneTo = 0;

  /** @param folder of the channel @param log that was read */
  constructor(folder: string, log: RewindLog) {
    this.#folder = folder;
    this.#log = log;
    log.list.onDropped = (name) => this.#dropped.push(name);
  }

  has(name: string): boolean {
    return this.#log.list.has(name);
  }

  /** What was dropped since it was asked last. */
  dropped(): readonly string[] {
    return this.#dropped.splice(0);
  }

  async take(news: RewindNews, limits: RewindLimits, wallMs: number): Promise<void> {
    const lines: RewindLine[] = news.titles.map((title) => ({ title }));
    let { last } = this.#log.list;
    for (const segment of news.segments) {
      if (last !== undefined && segment.number <= numberOf(last)) continue;
      const next = this.#next(segment, last, news);
      lines.push({ segment: next });
      // TARGETDURATION stays what it is, and EXT-X-MAP cannot be taken back.
      const isOther = last !== undefined && (last.targetSeconds !== next.targetSeconds || !last.init !== !next.init);
      if (isOther) lines.push({ from: next.sequence });
      last = next;
    }
    await this.#append(lines);
    await this.trim(limits, wallMs);
  }

  /** What is too old, or too much, is listed no more. */
  async trim({ rewindHours, rewindBytes }: RewindLimits, wallMs: number): Promise<void> {
    const { list, chunks } = this.#log;
    const { last } = list;
    if (last === undefined) return;
    let { bytes } = list;
    let from = Math.max(list.from, this.#goneTo);
    for (; from < last.sequence; from++) {
      const { startMs, micros, length } = list.at(from)!;
      const isOver = startMs + micros / 1000 < wallMs - rewindHours * HOUR_MS || bytes > rewindBytes;
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
   * The disk is full: the oldest files go, of that many bytes at least, those of a list of a minute ago first.
   * @param isKept whether a window has it @returns false: there are none
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
    // Where not even a line can be written it is when they are gone.
    const isSaid = await this.#begin(from).catch(() => false);
    for (const name of names) await rm(join(this.#folder, name), { force: true });
    if (!isSaid) await this.#begin(from);
    return true;
  }

  /** There is no rewind any more. */
  async clear(): Promise<void> {
    await rm(join(this.#folder, LOG_FOLDER), { recursive: true, force: true });
    this.#chunk = null;
    this.#goneTo = 0;
    await this.#log.read();
    this.#log.list.clear();
  }

  /** What the list begins with. */
  async #begin(from: number): Promise<true> {
    if (from > this.#log.list.from) await this.#append([{ from }]);
    return true;
  }

  #next(segment: HlsSegment, last: RewindSegment | undefined, news: RewindNews): RewindSegment {
    const { number, name, init, startMs, micros, bytes } = segment;
    // What came between did not come here.
    const isDiscontinuity = segment.isDiscontinuity || (last !== undefined && number !== numberOf(last) + 1);
    return {
      sequence: last === undefined ? number : last.sequence + 1,
      name,
      init: init?.name ?? null,
      startMs,
      micros,
      isDiscontinuity,
      discontinuities: (last?.discontinuities ?? news.discontinuitySequence) + (isDiscontinuity ? 1 : 0),
      // It may have been cut before that was another.
      targetSeconds: Math.max(news.targetSeconds, Math.round(micros / 1e6)),
      length: bytes.length,
      crc: news.checksums.get(name)!,
    };
  }

  /** They are in the list when this resolves. */
  async #append(lines: readonly RewindLine[]): Promise<void> {
    if (lines.length === 0) return;
    const { list } = this.#log;
    const next = list.last === undefined ? firstOf(lines) : list.last.sequence + 1;
    // Without a segment there is nothing to list yet.
    if (next === null) return;
    const isFull = this.#chunkBytes > CHUNK_BYTES || (this.#chunk !== null && next - this.#chunk >= CHUNK_SEGMENTS);
    try {
      if (this.#chunk === null || isFull) await this.#beginChunk(next, lines);
      else await this.#write(lines);
    } finally {
      // Of what could not be written whole some lines may be there.
      await this.#log.read();
    }
  }

  /** What is in force where it begins stands in it once more: files before it go. */
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
    // Until it is written.
    this.#isTorn = true;
    await appendFile(chunkPath(this.#folder, this.#chunk!), text);
    this.#isTorn = false;
    this.#chunkBytes += Buffer.byteLength(text);
  }
}

/** The number of the live list. */
export function numberOf({ name }: RewindSegment): number {
  return Number.parseInt(name, 10);
}

function firstOf(lines: readonly RewindLine[]): number | null {
  return lines.find(({ segment }) => segment !== undefined)?.segment?.sequence ?? null;
}
