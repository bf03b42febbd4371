/**
 * The titles of one play, from the moment the element is asked to play until its stream ends: each is held until the element has reached its
 * place. The medium has titles and places: from a stream's feed (stream-titles.ts), or from the dates of HLS (dated-titles.ts).
 *
 *   title, place ─► HeardPlaces ─ the element reaches the place ─► onHeard
 *
 * Owned by the attachment, which calls `look` whenever the clock may have moved.
 */

import { HAVE_FUTURE_DATA } from './browser.js';
import type { AudioElement, ChannelRecord } from './types.js';

/** The titles of a play at their places: milliseconds, of the media clock or of unix time. */
export interface HeardPlaces {
  /** The place of the element; null: not known yet. */
  readonly atMs: number | null;
  /** Takes the titles that are newly heard by then. */
  take(atMs: number): ChannelRecord[];
  /** The place of the next title; null: none is known. */
  ahead(): number | null;
  /** Reports the player's position to the server, if that is due. @param nowMs monotonic */
  report(nowMs: number): void;
  close(): void;
}

export interface PlayTitlesOptions {
  /** Called when it is time to look. */
  readonly onDue: () => void;
  readonly onHeard: (record: ChannelRecord) => void;
}

/** How exactly a title is reported: the resolution of timers. */
const EXACT_MS = 4;
/** Between two looks until the clock begins to move. */
const BEGIN_MS = 15;

export class PlayTitles {
  readonly #audio: AudioElement;
  readonly #places: HeardPlaces;
  readonly #options: PlayTitlesOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(audio: AudioElement, places: HeardPlaces, options: PlayTitlesOptions) {
    this.#audio = audio;
    this.#places = places;
    this.#options = options;
  }

  /** Reports what is heard by now, and asks to be called again when the next title is due. */
  look(): void {
    clearTimeout(this.#timer);
    const { paused, currentTime, readyState } = this.#audio;
    if (paused) return;
    const { atMs } = this.#places;
    if (atMs === null) {
      if (currentTime === 0 && readyState >= HAVE_FUTURE_DATA) this.#comeAgain(BEGIN_MS);
      return;
    }
    for (const record of this.#places.take(atMs + EXACT_MS)) {
      this.#options.onHeard(record);
      // The handler may have ended the play.
      if (this.#isClosed) return;
    }
    const nextMs = this.#places.ahead();
    // `onNext`, called by `ahead`, may have ended it, too.
    if (nextMs !== null && !this.#isClosed) this.#comeAgain((nextMs - atMs) / (this.#audio.playbackRate || 1));
  }

  /** @param nowMs monotonic */
  report(nowMs: number): void {
    this.#places.report(nowMs);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#places.close();
  }

  #comeAgain(ms: number): void {
    this.#timer = setTimeout(() => this.#options.onDue(), Math.max(EXACT_MS, ms));
  }
}
