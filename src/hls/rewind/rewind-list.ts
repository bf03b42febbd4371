/**
 * The list of a channel's rewind: the segments and titles of the last hours from its log (rewind-log.ts), and their playlist. The segments are those
 * of the live list, under the same names.
 *
 *   kept in files, left the list │ listed                                   │ next line of the log
 *    ├ a minute ────────────────┤├ block ┤├ block ┤├ block ┤ … ├ block, open ┤
 *                                └ from            the text of a block is made once
 *
 * Invariants: media sequence numbers have no gaps, so a segment after a gap begins another list; a list that has begun is never empty. All processes
 * that read the same log have the same list.
 */

import type { RewindLine, RewindSegment } from '../hls-schema.js';
import type { HlsTitle } from '../hls-title.js';
import { dateRange, playlistHead, segmentLines } from '../playlist.js';

/** How much audio is kept after it left the list, since players have lists that are some seconds old. */
const SPARE_MICROS = 60_000_000;
/** The number of segments whose lines are kept as one string. */
const BLOCK = 256;
/** The most titles of a list; older ones are dropped. */
const MAX_TITLES = 10_000;
/** A segment states its date if the previous date plus the durations since differ from it by this much, and at least once in 16. */
const [DATE_TOLERANCE_MS, DATE_EVERY] = [2, 16];

export class RewindList {
  /** The media sequence number of the first listed segment. */
  from = 0;
  /** Oldest first. */
  readonly #segments: RewindSegment[] = [];
  #bytes = 0;
  /** The duration of segments that have left the list and are kept. */
  #spareMicros = 0;
  readonly #byName = new Map<string, RewindSegment>();
  /** The number of segments that need each initialization section, and its checksum. */
  readonly #inits = new Map<string, { segments: number; readonly crc: number | undefined }>();
  #titles: HlsTitle[] = [];
  readonly #titleLines = new WeakMap<HlsTitle, string>();
  /** The texts of blocks, by number. */
  readonly #blocks = new Map<number, string>();
  readonly #onDropped = new Set<(name: string) => void>();
  /** Made on first use. */
  #text: string | null = null;

  get isEmpty(): boolean {
    return this.#segments.length === 0;
  }

  get last(): RewindSegment | undefined {
    return this.#segments.at(-1);
  }

  /** The oldest segment that has a file. */
  get oldest(): RewindSegment | undefined {
    return this.#segments[0];
  }

  /** The bytes of the listed segments. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The time from the start of the list to its end, gaps included. */
  get seconds(): number {
    const [first, last] = [this.at(this.from), this.last];
    return first === undefined || last === undefined ? 0 : (last.startMs - first.startMs) / 1000 + last.micros / 1e6;
  }

  /** @param dropped called with the name of each file that is no longer needed @returns ends that */
  onDropped(dropped: (name: string) => void): () => void {
    this.#onDropped.add(dropped);
    return () => void this.#onDropped.delete(dropped);
  }

  /** Returns the segment with this media sequence number. */
  at(sequence: number): RewindSegment | undefined {
    return this.#segments[sequence - (this.oldest?.sequence ?? 0)];
  }

  segment(name: string): RewindSegment | undefined {
    return this.#byName.get(name);
  }

  /** Returns the checksum of an initialization section, if it is known. */
  initCrc(name: string): number | undefined {
    return this.#inits.get(name)?.crc;
  }

  /** Whether this is the file of a segment or of an initialization section. */
  has(name: string): boolean {
    return this.#byName.has(name) || this.#inits.has(name);
  }

  /** Returns the title in force at this time and all later ones. @param ms Unix milliseconds */
  titlesFrom(ms: number): HlsTitle[] {
    return this.#titles.slice(
      Math.max(
        0,
        this.#titles.findLastIndex(({ startMs }) => startMs <= ms),
      ),
    );
  }

  /** The media playlist; the list must not be empty. The same string until something changes. */
  get playlist(): string {
    return (this.#text ??= this.#render());
  }

  /** Takes the next line of the log. */
  take({ segment, title, from }: RewindLine): void {
    this.#text = null;
    if (title !== undefined) this.#title(title);
    if (segment !== undefined) this.#append(segment);
    if (from !== undefined) this.#begin(from);
  }

  /** Called when the log has begun anew or is gone. */
  clear(): void {
    this.#empty();
    this.#titles = [];
    this.#text = null;
  }

  #empty(): void {
    this.#drop(this.#segments.length);
    this.#blocks.clear();
    this.#bytes = this.#spareMicros = this.from = 0;
  }

  #append(segment: RewindSegment): void {
    const { last } = this;
    if (last !== undefined && segment.sequence <= last.sequence) return;
    if (last !== undefined && segment.sequence > last.sequence + 1) this.#empty();
    if (this.isEmpty) this.from = segment.sequence;
    const { init } = segment;
    if (init !== null) this.#need(init, segment.initCrc);
    this.#bytes += segment.length;
    this.#segments.push(segment);
    this.#byName.set(segment.name, segment);
    this.#blocks.delete(blockOf(segment.sequence));
  }

  #need(init: string, crc: number | undefined): void {
    const known = this.#inits.get(init);
    if (known === undefined) this.#inits.set(init, { segments: 1, crc });
    else known.segments++;
  }

  /** Adds a title as a window does: replaces titles at its place and after it. */
  #title(title: HlsTitle): void {
    const titles = this.#titles;
    while (titles.length > 0 && titles.at(-1)!.startMs >= title.startMs) titles.pop();
    // A cutter that started anew dates the title in force by its own start; attributes of one ID must not change (RFC 8216, 4.3.2.7).
    if (titles.at(-1)?.id === title.id) return;
    titles.push(title);
    if (titles.length > MAX_TITLES) titles.shift();
  }

  #begin(from: number): void {
    const { last } = this;
    if (last === undefined || from <= this.from) return;
    while (this.from < Math.min(from, last.sequence)) {
      this.#blocks.delete(blockOf(this.from));
      const { length, micros } = this.at(this.from++)!;
      this.#bytes -= length;
      this.#spareMicros += micros;
    }
    this.#blocks.delete(blockOf(this.from));
    let over = 0;
    for (const { micros } of this.#segments) {
      if (this.#spareMicros - micros < SPARE_MICROS) break;
      this.#spareMicros -= micros;
      over++;
    }
    this.#drop(over);
    const { startMs } = this.at(this.from)!;
    const titles = this.#titles;
    const isOver = (next: HlsTitle | undefined) => next !== undefined && next.startMs <= startMs;
    while (isOver(titles[1])) titles.shift();
  }

  /** Drops the oldest segments. */
  #drop(count: number): void {
    for (const { name, init } of this.#segments.splice(0, count)) {
      this.#byName.delete(name);
      for (const dropped of this.#onDropped) dropped(name);
      if (init === null) continue;
      if (--this.#inits.get(init)!.segments > 0) continue;
      this.#inits.delete(init);
      for (const dropped of this.#onDropped) dropped(init);
    }
  }

  #indexOf(sequence: number): number {
    return Math.max(0, sequence - (this.#segments[0]?.sequence ?? 0));
  }

  #render(): string {
    const last = this.last!;
    const first = this.at(this.from)!;
    const endMs = last.startMs + last.micros / 1000;
    const parts = [
      playlistHead({
        isMp4: first.init !== null,
        targetSeconds: first.targetSeconds,
        mediaSequence: first.sequence,
        discontinuitySequence: first.discontinuities - (first.isDiscontinuity ? 1 : 0),
      }),
    ];
    // No title is listed before its audio.
    for (const title of this.#titles) if (title.startMs < endMs) parts.push(this.#titleLine(title));
    for (let block = blockOf(first.sequence); block <= blockOf(last.sequence); block++) parts.push(this.#block(block));
    return parts.join('');
  }

  #titleLine(title: HlsTitle): string {
    const known = this.#titleLines.get(title);
    if (known !== undefined) return known;
    const line = dateRange(title);
    this.#titleLines.set(title, line);
    return line;
  }

  /** Returns the lines of a block's listed segments, which do not depend on other blocks. */
  #block(block: number): string {
    const known = this.#blocks.get(block);
    if (known !== undefined) return known;
    const from = this.#indexOf(Math.max(this.from, block * BLOCK));
    let [text, statedMs, undated] = ['', Number.NaN, 0];
    for (const [i, segment] of this.#segments.slice(from, this.#indexOf((block + 1) * BLOCK)).entries()) {
      const { startMs, micros, isDiscontinuity } = segment;
      const isExact = Math.abs(startMs - statedMs) < DATE_TOLERANCE_MS;
      const isDated = !isExact || isDiscontinuity || ++undated === DATE_EVERY;
      if (isDated) [statedMs, undated] = [startMs, 0];
      statedMs += micros / 1000;
      text += segmentLines(segment, i === 0 ? null : this.#segments[from + i - 1]!.init, isDated);
    }
    this.#blocks.set(block, text);
    return text;
  }
}

function blockOf(sequence: number): number {
  return Math.floor(sequence / BLOCK);
}
