/**
 * A channel's titles on their way through the cutter: noted by their places on the tape, reached frame by frame, dated when the segment with their
 * place is closed, and then added to the window.
 *
 *   tape       ├── dated ──┼── reached ─────┼── ahead ──
 *   titles      A        B │   C            │    D
 *   cutter                 └ open segment   └ next frame
 *
 * A late title, whose place is already cut, is dated at once. A correction takes the place of what it corrects. Owned by an HlsCutter.
 */

import type { Mark } from '../audio/tape/mark.js';
import type { Tags } from '../metadata/icy.js';
import { isSamePlay, type TrackRecord } from '../metadata/record.js';
import { type TitleText, titleOf } from './hls-title.js';
import type { TaggedTitle } from './segment-form.js';
import type { HlsWindow } from './window.js';

/** A closed segment: its audio time on the tape, and the PROGRAM-DATE-TIME of its start, all milliseconds. */
export interface DatedSegment {
  readonly fromMs: number;
  readonly toMs: number;
  readonly startMs: number;
}

interface PlacedTitle {
  readonly text: TitleText;
  readonly record: TrackRecord;
  readonly atMs: number;
}

/** Summed frame durations differ from the tape's times by less. */
const TOLERANCE_MS = 0.5;

/** How many closed segments are remembered: more than a window lists. */
const MAX_SEGMENTS = 128;

/** How many titles a segment has in its own bytes, each up to 5 KB. More titles replace the last one. */
const MAX_TAGGED = 64;

export class PlacedTitles {
  /** Titles of the open segment: the one in force at its start, if known, and those reached in it. */
  tagged: TaggedTitle[] = [];
  /** Audio time of its start. */
  #fromMs = 0;
  readonly #window: Pick<HlsWindow, 'title' | 'titleOf'>;
  /** The order of the last noted mark. */
  #order = -1;
  /** Its tags, as in ICY. */
  #said: Tags | null = null;
  /** Titles without a date yet, in order of their places; the first `#reached` were reached. */
  readonly #titles: PlacedTitle[] = [];
  #reached = 0;
  /** The last reached title. */
  #current: PlacedTitle | null = null;
  /** The last dated title. */
  #dated: (PlacedTitle & { readonly startMs: number }) | null = null;
  /** Closed segments of this tape, oldest first. */
  #segments: DatedSegment[] = [];

  constructor(window: Pick<HlsWindow, 'title' | 'titleOf'>) {
    this.#window = window;
  }

  /** Notes a mark on the tape. Returns false if it was noted before or changes no title. */
  note(mark: Mark, atMs: number): boolean {
    if (mark.order <= this.#order) return false;
    this.#order = mark.order;
    const text = titleOf(mark, this.#said);
    this.#said = mark.tags;
    if (text === null) return false;
    const titles = this.#titles;
    while (titles.length > 0 && titles.at(-1)!.atMs >= atMs) titles.pop();
    this.#reached = Math.min(this.#reached, titles.length);
    titles.push({ text, record: mark.view.record, atMs });
    const last = this.#segments.at(-1);
    if (last !== undefined) this.#dateUpTo(last.toMs);
    return true;
  }

  /** Called when the cutter reaches this audio time. Returns whether another title is in force there. */
  reach(atMs: number): boolean {
    const titles = this.#titles;
    const before = this.#reached;
    while (this.#reached < titles.length && titles[this.#reached]!.atMs <= atMs + TOLERANCE_MS) {
      this.#current = titles[this.#reached++]!;
    }
    return this.#reached > before;
  }

  /** Begins a segment, with the last reached title. @param fromMs audio time of its first frame */
  open(fromMs: number): void {
    this.#fromMs = fromMs;
    this.tagged = [];
    this.tag();
  }

  /** Adds the last reached title to the open segment, in place of titles that were to take effect after it. */
  tag(): void {
    const { tagged } = this;
    const title = this.#current;
    if (title === null) return;
    const offsetMs = Math.max(0, title.atMs - this.#fromMs);
    while (tagged.length > 0 && tagged.at(-1)!.offsetMs >= offsetMs) tagged.pop();
    if (tagged.length === MAX_TAGGED) tagged.pop();
    tagged.push({ text: title.text, offsetMs });
  }

  /** Called when a segment is closed that will be listed: dates its titles. */
  date(segment: DatedSegment): void {
    this.#segments.push(segment);
    if (this.#segments.length > MAX_SEGMENTS) this.#segments.shift();
    this.#dateUpTo(segment.toMs);
  }

  /** Leaves the tape: places on the next one have other audio times. */
  leaveTape(): void {
    this.reach(Number.POSITIVE_INFINITY);
    if (this.#segments.length > 0) this.#dateUpTo(Number.POSITIVE_INFINITY);
    // If nothing of the tape was listed, only its last title is in force where the next tape begins.
    const last = this.#titles.at(-1);
    this.#titles.length = 0;
    if (last !== undefined) this.#titles.push({ ...last, atMs: Number.NEGATIVE_INFINITY });
    this.#reached = this.#titles.length;
    this.#segments = [];
    if (this.#current !== null) this.#current = { ...this.#current, atMs: Number.NEGATIVE_INFINITY };
    if (this.#dated !== null) this.#dated = { ...this.#dated, atMs: Number.NEGATIVE_INFINITY };
  }

  #dateUpTo(endMs: number): void {
    const titles = this.#titles;
    while (titles.length > 0 && titles[0]!.atMs < endMs - TOLERANCE_MS) {
      const title = titles.shift()!;
      // A late title is dated before it is reached.
      if (this.#reached === 0) this.#current = title;
      else this.#reached--;
      const { text } = title;
      // Known if the previous cutter has listed it.
      const listed = this.#window.titleOf(text.id);
      const startMs = listed?.startMs ?? this.#startOf(title);
      this.#dated = { ...title, startMs };
      if (listed === undefined) this.#window.title({ ...text, startMs });
    }
  }

  /** Returns a title's date: a correction starts where what it corrects started, and no title before the previous one. */
  #startOf({ atMs, record }: PlacedTitle): number {
    const before = this.#dated;
    if (before !== null && (atMs <= before.atMs || isSamePlay(before.record, record))) return before.startMs;
    const segments = this.#segments;
    const segment = segments.findLast(({ fromMs }) => fromMs <= atMs + TOLERANCE_MS) ?? segments[0]!;
    const behindMs = atMs === Number.NEGATIVE_INFINITY ? 0 : atMs - segment.fromMs;
    return Math.max(segment.startMs + behindMs, before?.startMs ?? Number.NEGATIVE_INFINITY);
  }
}
