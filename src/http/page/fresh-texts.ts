/**
 * Values derived from changing data: made at most once a second for all clients, and anew when the site is another object. The least recently used
 * are dropped.
 */

import type { Clock } from '../../base/clock.js';
import type { ServedText } from './page-files.js';
import type { PageSite } from './page-site.js';

const FRESH_MS = 1000;
const MAX_KEPT = 64;
/** New texts kept in a second. */
const MAX_NEW = 16;

interface FreshValue<T> {
  readonly of: PageSite;
  readonly value: T;
  readonly untilMs: number;
}

export class FreshValues<T> {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #kept = new Map<string, FreshValue<T>>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  has(name: string): boolean {
    return this.#kept.has(name);
  }

  /** @param make gets the previous value */
  get(name: string, of: PageSite, make: (before: T | undefined) => T): T {
    const nowMs = this.#clock.now();
    const before = this.#kept.get(name);
    this.#kept.delete(name);
    const isFresh = before !== undefined && before.of === of && nowMs < before.untilMs;
    const kept = isFresh ? before : { of, value: make(before?.value), untilMs: nowMs + FRESH_MS };
    this.#kept.set(name, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return kept.value;
  }
}

/** Invariant: a flood of new texts (each for another Host) causes no compression, and evicts none. */
export class FreshTexts {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #texts: FreshValues<ServedText>;
  #second = 0;
  #made = 0;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.#texts = new FreshValues(clock);
  }

  /** @param make gets whether the text is kept, and so compressed */
  get(name: string, of: PageSite, make: (isKept: boolean) => ServedText): ServedText {
    if (!this.#texts.has(name) && this.#isBusy()) return make(false);
    return this.#texts.get(name, of, (before) => {
      const text = make(true);
      // The same content keeps its compressed forms.
      return before !== undefined && before.body.etag(null) === text.body.etag(null) ? before : text;
    });
  }

  /** Counts a new text, and returns whether there are too many. */
  #isBusy(): boolean {
    const second = Math.floor(this.#clock.now() / FRESH_MS);
    if (second !== this.#second) this.#made = 0;
    this.#second = second;
    return ++this.#made > MAX_NEW;
  }
}
