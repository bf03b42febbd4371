/**
 * The list of a channel's rewind: the segments and titles of the last hours, as its log has them (rewind-log.ts), and the playlist of them. The
 * segments are those of the live list, under the same names.
 *
 *   kept in files, left the list │ listed                                   │ next line of the log
 *    ├ a minute ────────────────┤├ block ┤├ block ┤├ block ┤ … ├ block, open ┤
 *                                └ from            text of a block is made once
 *
 * Invariants: media sequence numbers have no gaps, so what comes behind one begins another list; what is listed is never empty once it has begun.
 * All who read the same log have the same list.
 */

import type { RewindLine, RewindSegment } from '../hls-schema.js';
import type { HlsTitle } from '../hls-title.js';
import { dateRange, playlistHead, segmentLines } from '../playlist.js';

/** A player has a list that is some seconds old. */
const SPARE_MICROS = 60_000_000;
/** Segments whose lines are kept as one text. */
const BLOCK = 256;
/** No list has more; the oldest go. */
const MAX_TITLES = 10_000;
/** A segment has its own date where that of the one before, and what that lasts, says it less exactly; and one in 16. */
const [DATE_TOLERANCE_MS, DATE_EVERY] = [2, 16];

export class RewindList {
  /** Names of files that are needed no more go there. */
  onDropped: (name: string) => void = () => undefined;
  /** The media sequence number with which the list begins. */
  from = 0;
  /** Oldest first. */
  readonly #segments: RewindSegment[] = [];
  #bytes = 0;
  /** Of what left the list, and is kept. */
  #spareMicros = 0;
  readonly #byName = new Map<string, RewindSegment>();
  /** How many segments need a file. */
  readonly #inits = new Map<string, number>();
  #titles: HlsTitle[] = [];
  readonly #titleLines = new WeakMap<HlsTitle, string>();
  /** By the number of the block. */
  readonly #blocks = new Map<number, string>();
  /** Made on first use. */
  #text: string | null = null;

  get isEmpty(): boolean {
    return this.#segments.length === 0;
  }

  get last(): RewindSegment | undefined {
    return this.#segments.at(-1);
  }

  /** The oldest that has a file. */
  get oldest(): RewindSegment | undefined {
    return this.#segments[0];
  }

  /** Of what is listed. */
  get bytes(): number {
    return this.#bytes;
  }

  /** From the beginning of what is listed to its end, silence in it too. */
  get seconds(): number {
    const [first, last] = [this.at(this.from), this.last];
    return first === undefined || last === undefined ? 0 : (last.startMs - first.startMs) / 1000 + last.micros / 1e6;
  }

  /** That with this media sequence number. */
  at(sequence: number): RewindSegment | undefined {
    return this.#segments[sequence - (this.oldest?.sequence ?? 0)];
  }

  segment(name: string): RewindSegment | undefined {
    return this.#byName.get(name);
  }

  /** Whether it is the file of a segment, or one that segments need. */
  has(name: string): boolean {
    return this.#byName.has(name) || this.#inits.has(name);
  }

  /** The title in force at this moment and all behind it, unix milliseconds. */
  titlesFrom(ms: number): HlsTitle[] {
    return this.#titles.slice(
      Math.max(
        0,
        this.#titles.findLastIndex(({ startMs }) => startMs <= ms),
      ),
    );
  }

  /** The media playlist, of a list that is not empty. The same text until it changes. */
  get playlist(): string {
    return (this.#text ??= this.#render());
  }

  /** The next line of the log. */
  take({ segment, title, from }: RewindLine): void {
    this.#text = null;
    if (title !== undefined) this.#title(title);
    if (segment !== undefined) this.#append(segment);
    if (from !== undefined) this.#begin(from);
  }

  /** The log has begun anew, or is gone. */
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
    if (init !== null) this.#inits.set(init, (this.#inits.get(init) ?? 0) + 1);
    this.#bytes += segment.length;
    this.#segments.push(segment);
    this.#byName.set(segment.name, segment);
    this.#blocks.delete(blockOf(segment.sequence));
  }

  /** As a window has it: what stands there or behind it is no longer said. */
  #title(title: HlsTitle): void {
    const titles = this.#titles;
    while (titles.length > 0 && titles.at(-1)!.startMs >= title.startMs) titles.pop();
    // Who began to cut anew knows no better than when that was: of one ID all attributes stay what they are (RFC 8216, 4.3.2.7).
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

  /** The oldest. */
  #drop(count: number): void {
    for (const { name, init } of this.#segments.splice(0, count)) {
      this.#byName.delete(name);
      this.onDropped(name);
      if (init === null) continue;
      const others = this.#inits.get(init)! - 1;
      if (others > 0) this.#inits.set(init, others);
      else {
        this.#inits.delete(init);
        this.onDropped(init);
      }
    }
  }

  #placeOf(sequence: number): number {
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
    // None is listed before its audio is.
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

  /** As much of it as is listed: it stands by itself. */
  #block(block: number): string {
    const known = this.#blocks.get(block);
    if (known !== undefined) return known;
    const from = this.#placeOf(Math.max(this.from, block * BLOCK));
    let [text, statedMs, undated] = ['', Number.NaN, 0];
    for (const [i, segment] of this.#segments.slice(from, this.#placeOf((block + 1) * BLOCK)).entries()) {
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
