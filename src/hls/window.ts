/**
 * The newest segments of a channel with their titles: those that its media playlist lists, and older ones that can still be fetched. Segments arrive
 * here complete, wherever they are cut.
 *
 *     kept, no longer listed      listed in the playlist
 *    ┌────┬────┬────┬────┬────┐┌────┬────┬────┬────┬────┬────┐
 *    │ 91 │ 92 │ 93 │ 94 │ 95 ││ 96 │ 97 │ 98 │ 99 │100 │101 │  102 is appended next
 *    └────┴────┴────┴────┴────┘└────┴────┴────┴────┴────┴────┘
 *      titles                 A ────┼────┼─ B ┼────┼─ C           A is in force where the list begins
 *
 * Invariants: a new segment's number is above all earlier ones, even if those are forgotten; a list that has begun is empty only once it has ended.
 * Owned by ChannelHls.
 */

import type { ListState } from './hls-schema.js';
import type { HlsTitle } from './hls-title.js';
import { type HlsFile, type HlsInit, type HlsSegment, mediaPlaylist, multivariantPlaylist } from './playlist.js';

/** The most titles of a list; older ones are dropped. */
const MAX_TITLES = 256;
/** Without earlier lists EXT-X-DISCONTINUITY-SEQUENCE starts at the hours since then: it must stay small (README.md). */
const SEQUENCE_EPOCH_MS = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;

export interface WindowLimits {
  /** The number of segments that are listed, and that can be fetched. */
  readonly window: number;
  readonly keep: number;
}

/** Waits for a list that is not empty. */
export interface WindowReader {
  onListed(): void;
}

/** Notified of each change of a window, which it may read during the call. */
export interface WindowObserver {
  /** Called when a segment was appended. */
  onSegment(segment: HlsSegment): void;
  /** Called when titles from this time on have changed. @param fromMs Unix milliseconds */
  onTitles(fromMs: number): void;
  /** Called when the list has ended, or its ListState has changed. */
  onList(): void;
  /** Called when all segments were dropped. */
  onCleared(): void;
}

export class HlsWindow {
  /** TARGETDURATION of the playlist, seconds; set by `retarget`. */
  targetSeconds: number;
  /** The highest number of any segment so far, or null if there was none. */
  lastNumber: number | null = null;
  /** Segments appended since this process started. */
  readonly came = { segments: 0, bytes: 0 };
  #limits: WindowLimits;
  /** Oldest first. */
  #segments: HlsSegment[] = [];
  readonly #byName = new Map<string, HlsSegment>();
  /** Index of the first listed segment. */
  #from = 0;
  #titles: HlsTitle[] = [];
  #discontinuitySequence: number;
  #bandwidth = 0;
  /** Made on first use. */
  #playlist: string | null = null;
  readonly #readers = new Set<WindowReader>();
  readonly #observers = new Set<WindowObserver>();
  /** Segments with lower numbers are kept but not listed. */
  #listsFrom = 0;

  /** @param wallMs the present time, Unix milliseconds */
  constructor(targetSeconds: number, limits: WindowLimits, wallMs: number) {
    this.targetSeconds = targetSeconds;
    this.#limits = limits;
    this.#discontinuitySequence = Math.max(0, Math.floor((wallMs - SEQUENCE_EPOCH_MS) / HOUR_MS));
  }

  /** Whether the list has no segments. */
  get isEmpty(): boolean {
    return this.#from === this.#segments.length;
  }

  /** The end of the last listed segment, Unix milliseconds; -∞ if the list is empty. */
  get endMs(): number {
    const last = this.#segments.at(-1);
    return this.isEmpty || last === undefined ? Number.NEGATIVE_INFINITY : last.startMs + last.micros / 1000;
  }

  /** The media playlist; the list must not be empty. The same string until something changes. */
  get playlist(): string {
    return (this.#playlist ??= this.#render());
  }

  /** Returns the multivariant playlist. @param name the channel's display name @param token as in Variant */
  variant(name: string, token: string | null = null): string {
    return multivariantPlaylist({ bandwidth: this.#bandwidth, codecs: this.#segments.at(-1)!.codecs, name, token });
  }

  segment(name: string): HlsSegment | undefined {
    return this.#byName.get(name);
  }

  /** The initialization section of the last kept segment; null if it needs none, or no segment is kept. */
  get lastInit(): HlsInit | null {
    return this.last?.init ?? null;
  }

  /** Returns the segment or initialization section of this name. */
  file(name: string): HlsFile | undefined {
    return this.#byName.get(name) ?? this.#segments.find(({ init }) => init?.name === name)?.init ?? undefined;
  }

  /** The last kept segment, if any. */
  get last(): HlsSegment | undefined {
    return this.#segments.at(-1);
  }

  get state(): ListState {
    const { targetSeconds, lastNumber } = this;
    const from = this.#segments[this.#from]?.number ?? (lastNumber === null ? 0 : lastNumber + 1);
    return { targetSeconds, discontinuitySequence: this.#discontinuitySequence, from };
  }

  /** Returns the kept segments from this number on, oldest first. */
  segmentsFrom(number: number): HlsSegment[] {
    return this.#segments.slice(this.#segments.findLastIndex((each) => each.number < number) + 1);
  }

  /** Returns the titles from this time on. @param ms Unix milliseconds */
  titlesFrom(ms: number): HlsTitle[] {
    return this.#titles.slice(this.#titles.findLastIndex(({ startMs }) => startMs < ms) + 1);
  }

  /** Returns the title of this id (TitleText), if it is kept. */
  titleOf(id: string): HlsTitle | undefined {
    return this.#titles.findLast((title) => title.id === id);
  }

  /** Continues a list that is cut elsewhere, or was cut before a restart. Its segments are then appended, with kept ones before it. */
  adopt({ targetSeconds, discontinuitySequence, from }: ListState): void {
    const first = this.#segments.findIndex(({ number }) => number >= from);
    this.#from = Math.max(this.#from, first < 0 ? this.#segments.length : first);
    this.#listsFrom = from;
    if (from > 0) this.raise(from - 1);
    this.targetSeconds = targetSeconds;
    this.#discontinuitySequence = discontinuitySequence;
    if (this.isEmpty) this.#bandwidth = 0;
    this.#playlist = null;
    for (const observer of this.#observers) observer.onList();
  }

  /** Continues numbering above this number. */
  raise(number: number): void {
    if (this.lastNumber === null || this.lastNumber < number) this.lastNumber = number;
  }

  append(segment: HlsSegment): void {
    this.came.segments++;
    this.came.bytes += segment.bytes.length;
    this.restore(segment);
  }

  /** Appends a segment that an earlier process has counted. */
  restore(segment: HlsSegment): void {
    // EXT-X-MAP applies until the next one (RFC 8216, 4.3.2.5), so a segment that needs none cannot follow in the same list.
    const { last } = this;
    if (last !== undefined && (last.init === null) !== (segment.init === null)) this.endList();
    const wasEmpty = this.isEmpty;
    this.#segments.push(segment);
    if (segment.number < this.#listsFrom) this.#from = this.#segments.length;
    this.#byName.set(segment.name, segment);
    this.raise(segment.number);
    this.#bandwidth = Math.max(this.#bandwidth, (segment.bytes.length * 8e6) / segment.micros);
    this.#trim();
    for (const observer of this.#observers) observer.onSegment(segment);
    if (wasEmpty && !this.isEmpty) for (const reader of [...this.#readers]) reader.onListed();
  }

  /** Adds a title, whose place may be in a listed segment or after all of them. Replaces titles at its place and after it. */
  title(title: HlsTitle): void {
    const titles = this.#titles;
    while (titles.length > 0 && titles.at(-1)!.startMs >= title.startMs) titles.pop();
    titles.push(title);
    if (titles.length > MAX_TITLES) titles.shift();
    this.#forgetTitles();
    this.#playlist = null;
    for (const observer of this.#observers) observer.onTitles(title.startMs);
  }

  change(limits: WindowLimits): void {
    this.#limits = limits;
    this.#trim();
  }

  /** Ends the list; the next segment begins another one. Its segments can still be fetched. */
  endList(): void {
    while (!this.isEmpty) this.#unlist();
    this.#bandwidth = 0;
    this.#playlist = null;
    for (const observer of this.#observers) observer.onList();
  }

  /** Sets TARGETDURATION; the list must be empty. @param targetSeconds seconds */
  retarget(targetSeconds: number): void {
    this.targetSeconds = targetSeconds;
    this.#playlist = null;
    for (const observer of this.#observers) observer.onList();
  }

  /** Drops all segments and titles; numbering continues. */
  clear(): void {
    this.endList();
    this.#segments = [];
    this.#from = 0;
    this.#byName.clear();
    this.#titles = [];
    for (const observer of this.#observers) observer.onCleared();
  }

  /** Balance with `unobserve`. */
  observe(observer: WindowObserver): void {
    this.#observers.add(observer);
  }

  unobserve(observer: WindowObserver): void {
    this.#observers.delete(observer);
  }

  /** Calls `onListed` each time a list begins. Balance with `leave`. */
  await(reader: WindowReader): void {
    this.#readers.add(reader);
  }

  leave(reader: WindowReader): void {
    this.#readers.delete(reader);
  }

  #trim(): void {
    const { window, keep } = this.#limits;
    while (this.#segments.length - this.#from > window) this.#unlist();
    while (this.#segments.length > keep) {
      this.#byName.delete(this.#segments.shift()!.name);
      this.#from--;
    }
    this.#forgetTitles();
    this.#playlist = null;
  }

  /** Removes the first segment from the list, with its EXT-X-DISCONTINUITY. */
  #unlist(): void {
    if (this.#segments[this.#from++]!.isDiscontinuity) this.#discontinuitySequence++;
  }

  /** Drops the titles that end before the list begins. */
  #forgetTitles(): void {
    const first = this.#segments[this.#from];
    if (first === undefined) return;
    const titles = this.#titles;
    while (titles.length > 1 && titles[1]!.startMs <= first.startMs) titles.shift();
  }

  #render(): string {
    const { endMs } = this;
    return mediaPlaylist({
      targetSeconds: this.targetSeconds,
      discontinuitySequence: this.#discontinuitySequence,
      segments: this.#segments.slice(this.#from),
      // No title is listed before its audio.
      titles: this.#titles.filter(({ startMs }) => startMs < endMs),
    });
  }
}
