/**
 * The titles of HLS at their dates, from the newest playlist: the last one at or before the date that plays is the one heard.
 *
 *   known:  A ── B ─── C            a playlist:  B ── C' ── D            then:  A ── B ── C' ── D
 *
 * Invariant: from the first date of the newest playlist on, only its titles count.
 */

import { type DatedTitle, MAX_TITLES } from './date-range.js';
import type { PlaceReporter } from './place-reporter.js';
import type { HeardPlaces } from './play-titles.js';
import type { AttachOptions, ChannelRecord } from './types.js';

export interface DatedTitlesOptions extends Pick<AttachOptions, 'onNext'> {
  /** The date of what is heard, unix milliseconds; null: not known yet. */
  readonly date: () => number | null;
  /** For a private listener; null: none, as a server does not know who plays shared files. */
  readonly reports: Pick<PlaceReporter, 'update'> | null;
  readonly onClose: () => void;
}

export class DatedTitles implements HeardPlaces {
  readonly #options: DatedTitlesOptions;
  /** In the order of their dates. */
  #titles: readonly DatedTitle[] = [];
  /** Ids of the title heard last, and of the next one that was reported; "": none. */
  #heard = '';
  #next = '';
  /** The date up to which titles were taken. */
  #takenMs = Number.NEGATIVE_INFINITY;

  constructor(options: DatedTitlesOptions) {
    this.#options = options;
  }

  get atMs(): number | null {
    return this.#options.date();
  }

  /** Takes the titles of a newer playlist. @param titles in order; none: nothing changes */
  update(titles: readonly DatedTitle[]): void {
    const [first] = titles;
    if (first === undefined) return;
    const before = this.#titles.filter(({ startMs }) => startMs < first.startMs);
    this.#titles = [...before, ...titles].slice(-MAX_TITLES);
  }

  take(atMs: number): ChannelRecord[] {
    this.#takenMs = atMs;
    const title = this.#titles.findLast(({ startMs }) => startMs <= atMs);
    if (title === undefined || title.id === this.#heard) return [];
    this.#heard = title.id;
    return [title.record];
  }

  /** Also reports the next title, if it has changed. */
  ahead(): number | null {
    const next = this.#titles.find(({ startMs }) => startMs > this.#takenMs);
    const { id, startMs, record } = next ?? { id: '', startMs: null, record: null };
    if (id !== this.#next) {
      this.#next = id;
      this.#options.onNext?.(record && { ...record, type: 'next' });
    }
    return startMs;
  }

  report(nowMs: number): void {
    const { date, reports } = this.#options;
    const heardAtMs = reports === null ? null : date();
    if (heardAtMs !== null) reports!.update(heardAtMs, { heardAt: new Date(heardAtMs).toISOString() }, nowMs);
  }

  close(): void {
    this.#options.onClose();
  }
}
