/**
 * A channel's titles as its cutter meets them: noted by their places on the tape, reached frame by frame, dated when the segment that has their place
 * is closed, and then the window's.
 *
 *   tape       ├── dated ──┼── reached ─────┼── ahead ──
 *   titles      A        B │   C            │    D
 *   cutter                 └ open segment   └ next frame
 *
 * A title that comes late has its place in what was cut: it is dated at once. A correction takes the place of what it corrects. Owned by an
 * HlsCutter.
 */

import type { Mark } from '../audio/tape/mark.js';
import type { Tags } from '../metadata/icy.js';
import { isSamePlay, type TrackRecord } from '../metadata/record.js';
import { type TitleText, titleOf } from './hls-title.js';
import type { TaggedTitle } from './segment-form.js';
import type { HlsWindow } from './window.js';

/** Of a segment that is closed: audio time on the tape, and the PROGRAM-DATE-TIME at its beginning. */
export interface DatedPlace {
  readonly fromMs: number;
  readonly toMs: number;
  readonly startMs: number;
}

interface PlacedTitle {
  readonly text: TitleText;
  readonly record: TrackRecord;
  readonly atMs: number;
}

/** What was added up of frames differs from what the tape has by less. */
const TOLERANCE_MS = 0.5;

/** More than a window has. */
const MAX_PLACES = 128;

export class PlacedTitles {
  /** Of the open segment: in force where it begins, as far as one is known, and reached in it. */
  tagged: TaggedTitle[] = [];
  /** Audio time of its beginning. */
  #fromMs = 0;
  readonly #window: Pick<HlsWindow, 'title' | 'titleOf'>;
  /** Of the last mark that was noted, and what it says in ICY. */
  #order = -1;
  #said: Tags | null = null;
  /** Those that are not dated yet, in order of their places; the first ones were reached. */
  readonly #titles: PlacedTitle[] = [];
  #reached = 0;
  /** The last that was reached. */
  #current: PlacedTitle | null = null;
  /** The last that was dated. */
  #dated: (PlacedTitle & { readonly startMs: number }) | null = null;
  /** Oldest first, of this tape. */
  #places: DatedPlace[] = [];

  constructor(window: Pick<HlsWindow, 'title' | 'titleOf'>) {
    this.#window = window;
  }

  /** A mark on the tape. @returns false: it was noted before, or says nothing new */
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
    const last = this.#places.at(-1);
    if (last !== undefined) this.#dateUpTo(last.toMs);
    return true;
  }

  /** The cutter has come to this audio time. @returns whether another title is in force there */
  reach(atMs: number): boolean {
    const titles = this.#titles;
    const before = this.#reached;
    while (this.#reached < titles.length && titles[this.#reached]!.atMs <= atMs + TOLERANCE_MS) {
      this.#current = titles[this.#reached++]!;
    }
    return this.#reached > before;
  }

  /** A segment begins, with what was reached last. @param fromMs audio time of its first frame */
  open(fromMs: number): void {
    this.#fromMs = fromMs;
    this.tagged = [];
    this.tag();
  }

  /** What was reached last takes effect in the open segment, or has before it: nothing that is said to come later does. */
  tag(): void {
    const { tagged } = this;
    const title = this.#current;
    if (title === null) return;
    const offsetMs = Math.max(0, title.atMs - this.#fromMs);
    while (tagged.length > 0 && tagged.at(-1)!.offsetMs >= offsetMs) tagged.pop();
    tagged.push({ text: title.text, offsetMs });
  }

  /** A segment is closed, and will be listed. */
  date(place: DatedPlace): void {
    this.#places.push(place);
    if (this.#places.length > MAX_PLACES) this.#places.shift();
    this.#dateUpTo(place.toMs);
  }

  /** Places are counted anew. */
  leaveTape(): void {
    this.reach(Number.POSITIVE_INFINITY);
    if (this.#places.length > 0) this.#dateUpTo(Number.POSITIVE_INFINITY);
    // Of a tape of which nothing was listed only the last title is in force where another begins.
    const last = this.#titles.at(-1);
    this.#titles.length = 0;
    if (last !== undefined) this.#titles.push({ ...last, atMs: Number.NEGATIVE_INFINITY });
    this.#reached = this.#titles.length;
    this.#places = [];
    if (this.#current !== null) this.#current = { ...this.#current, atMs: Number.NEGATIVE_INFINITY };
    if (this.#dated !== null) this.#dated = { ...this.#dated, atMs: Number.NEGATIVE_INFINITY };
  }

  #dateUpTo(endMs: number): void {
    const titles = this.#titles;
    while (titles.length > 0 && titles[0]!.atMs < endMs - TOLERANCE_MS) {
      const title = titles.shift()!;
      // One that comes late is dated before it is reached.
      if (this.#reached === 0) this.#current = title;
      else this.#reached--;
      const { text } = title;
      // It is listed by who cut before.
      const listed = this.#window.titleOf(text.id);
      const startMs = listed?.startMs ?? this.#startOf(title);
      this.#dated = { ...title, startMs };
      if (listed === undefined) this.#window.title({ ...text, startMs });
    }
  }

  /** A correction begins where what it corrects began, and no title before the one before it. */
  #startOf({ atMs, record }: PlacedTitle): number {
    const before = this.#dated;
    if (before !== null && (atMs <= before.atMs || isSamePlay(before.record, record))) return before.startMs;
    const places = this.#places;
    const place = places.findLast(({ fromMs }) => fromMs <= atMs + TOLERANCE_MS) ?? places[0]!;
    const behindMs = atMs === Number.NEGATIVE_INFINITY ? 0 : atMs - place.fromMs;
    return Math.max(place.startMs + behindMs, before?.startMs ?? Number.NEGATIVE_INFINITY);
  }
}
