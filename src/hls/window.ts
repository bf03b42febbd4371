/**
 * The newest segments of a channel, and the titles in them: what its media playlist lists, and what can still be fetched beside that. Segments come
 * here finished, from wherever they are cut.
 *
 *     kept, no longer listed      listed: what players are given
 *    ┌────┬────┬────┬────┬────┐┌────┬────┬────┬────┬────┬────┐
 *    │ 91 │ 92 │ 93 │ 94 │ 95 ││ 96 │ 97 │ 98 │ 99 │100 │101 │  102 is appended next
 *    └────┴────┴────┴────┴────┘└────┴────┴────┴────┴────┴────┘
 *      titles                 A ────┼────┼─ B ┼────┼─ C           A is in force where the list begins
 *
 * Invariants: numbers go on above all earlier ones, whatever was forgotten; the list is not empty once it has begun, unless it was ended.
 * Owned by ChannelHls.
 */

import type { HlsTitle } from './hls-title.js';
import { type HlsFile, type HlsInit, type HlsSegment, mediaPlaylist, multivariantPlaylist } from './playlist.js';

/** No list has more: titles come ten a second at most (`limits.pushesPerMinute`). */
const MAX_TITLES = 256;
/** Where nothing is known of earlier lists, EXT-X-DISCONTINUITY-SEQUENCE is counted from here on, one an hour: it must stay small. */
const SEQUENCE_EPOCH_MS = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;

export interface WindowLimits {
  /** Segments that are listed, and that can be fetched. */
  readonly window: number;
  readonly keep: number;
}

/** It waits for a list that is not empty. */
export interface WindowReader {
  onListed(): void;
}

/** What happens to a window, at once: what copies it reads it then. */
export interface WindowObserver {
  /** A segment was appended. */
  onSegment(segment: HlsSegment): void;
  /** Titles from this moment on are others, unix milliseconds. */
  onTitles(fromMs: number): void;
  /** A list has ended, or the next one is another (ListState). */
  onList(): void;
  /** Nothing is kept any more. */
  onCleared(): void;
}

/** What a list is, beside its segments and titles. */
export interface ListState {
  /** TARGETDURATION, seconds. */
  readonly targetSeconds: number;
  /** How many EXT-X-DISCONTINUITY left it. */
  readonly discontinuitySequence: number;
  /** The number of its first segment; of an empty list that of the next one. 0: there was none yet. */
  readonly from: number;
}

export class HlsWindow {
  /** Of its playlist, seconds: `retarget` sets it. */
  targetSeconds: number;
  /** Of the last segment that there ever was; null: there was none. */
  lastNumber: number | null = null;
  /** What was appended since this process began. */
  readonly came = { segments: 0, bytes: 0 };
  #limits: WindowLimits;
  /** Oldest first. */
  #segments: HlsSegment[] = [];
  readonly #byName = new Map<string, HlsSegment>();
  /** The place of the first that is listed. */
  #from = 0;
  #titles: HlsTitle[] = [];
  #discontinuitySequence: number;
  #bandwidth = 0;
  /** Made on first use. */
  #playlist: string | null = null;
  readonly #readers = new Set<WindowReader>();
  readonly #observers = new Set<WindowObserver>();
  /** What comes with a lower number is kept, and not listed. */
  #listsFrom = 0;

  /** @param wallMs now, unix milliseconds */
  constructor(targetSeconds: number, limits: WindowLimits, wallMs: number) {
    this.targetSeconds = targetSeconds;
    this.#limits = limits;
    this.#discontinuitySequence = Math.max(0, Math.floor((wallMs - SEQUENCE_EPOCH_MS) / HOUR_MS));
  }

  /** Whether there is nothing to list. */
  get isEmpty(): boolean {
    return this.#from === this.#segments.length;
  }

  /** Where what is listed ends, unix milliseconds; -∞: nothing is. */
  get endMs(): number {
    const last = this.#segments.at(-1);
    return this.isEmpty || last === undefined ? Number.NEGATIVE_INFINITY : last.startMs + last.micros / 1000;
  }

  /** The media playlist, of a list that is not empty. The same text until it changes. */
  get playlist(): string {
    return (this.#playlist ??= this.#render());
  }

  /** The multivariant one. @param name as listeners know the channel @param token as Variant has it */
  variant(name: string, token: string | null = null): string {
    return multivariantPlaylist({ bandwidth: this.#bandwidth, codecs: this.#segments.at(-1)!.codecs, name, token });
  }

  segment(name: string): HlsSegment | undefined {
    return this.#byName.get(name);
  }

  /** Of the last segment that is kept; null: it needs none, or there is none. */
  get lastInit(): HlsInit | null {
    return this.last?.init ?? null;
  }

  /** What can be fetched by this name: a segment, or what some need. */
  file(name: string): HlsFile | undefined {
    return this.#byName.get(name) ?? this.#segments.find(({ init }) => init?.name === name)?.init ?? undefined;
  }

  /** The last one that is kept; undefined: none is. */
  get last(): HlsSegment | undefined {
    return this.#segments.at(-1);
  }

  get state(): ListState {
    const { targetSeconds, lastNumber } = this;
    const from = this.#segments[this.#from]?.number ?? (lastNumber === null ? 0 : lastNumber + 1);
    return { targetSeconds, discontinuitySequence: this.#discontinuitySequence, from };
  }

  /** Those that are kept, from this number on, oldest first. */
  segmentsFrom(number: number): HlsSegment[] {
    return this.#segments.slice(this.#segments.findLastIndex((each) => each.number < number) + 1);
  }

  /** Those from this moment on, unix milliseconds. */
  titlesFrom(ms: number): HlsTitle[] {
    return this.#titles.slice(this.#titles.findLastIndex(({ startMs }) => startMs < ms) + 1);
  }

  /** A title that is listed. @param id as HlsTitle has it */
  titleOf(id: string): HlsTitle | undefined {
    return this.#titles.findLast((title) => title.id === id);
  }

  /** The list is this one: as it is where it is cut, or was before a restart. Its segments follow, and those before it that are kept. */
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

  /** Numbers go on above this one. */
  raise(number: number): void {
    if (this.lastNumber === null || this.lastNumber < number) this.lastNumber = number;
  }

  append(segment: HlsSegment): void {
    this.came.segments++;
    this.came.bytes += segment.bytes.length;
    this.restore(segment);
  }

  /** The same with one that an earlier process has appended. */
  restore(segment: HlsSegment): void {
    // EXT-X-MAP counts up to the next one (RFC 8216, 4.3.2.5): what needs none cannot follow in the same list.
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

  /** A title at its place, which may be in a segment that is listed, or behind them all. What stands there or behind it is no longer said. */
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

  /** The list ends: another begins with the next segment. What was in it can still be fetched. */
  endList(): void {
    while (!this.isEmpty) this.#unlist();
    this.#bandwidth = 0;
    this.#playlist = null;
    for (const observer of this.#observers) observer.onList();
  }

  /** Of the lists to come. */
  retarget(targetSeconds: number): void {
    this.targetSeconds = targetSeconds;
    this.#playlist = null;
    for (const observer of this.#observers) observer.onList();
  }

  /** Nothing is kept; numbers go on. */
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

  /** Calls `onListed` at each beginning of a list. Balance with `leave`. */
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

  /** The first of the list leaves it, and its EXT-X-DISCONTINUITY with it. */
  #unlist(): void {
    if (this.#segments[this.#from++]!.isDiscontinuity) this.#discontinuitySequence++;
  }

  /** Those that are over before the list begins. */
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
      // None is listed before its audio is.
      titles: this.#titles.filter(({ startMs }) => startMs < endMs),
    });
  }
}
