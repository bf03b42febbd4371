/**
 * Pages of history that wait to be rendered, each for all origins that have requested it. Origins take turns (net/limits/origin-turns.ts); the page
 * whose turn it is remains first until it is removed. Owned by HistoryPages.
 */

import { OriginTurns } from '../../net/limits/origin-turns.js';

interface QueuedPage {
  readonly name: string;
  readonly askers: readonly { readonly origin: string }[];
}

export class HistoryQueue<T extends QueuedPage> {
  readonly #pages = new Map<string, T>();
  readonly #turns = new OriginTurns<T>();
  #current: T | null = null;

  get size(): number {
    return this.#pages.size;
  }

  get(name: string): T | undefined {
    return this.#pages.get(name);
  }

  /** An origin requests the page: a new one, or one that others have requested too. */
  add(page: T, origin: string): void {
    this.#pages.set(page.name, page);
    this.#turns.add(origin, page);
  }

  /** The page whose turn it is; null: the queue is empty. */
  next(): T | null {
    this.#current ??= this.#turns.next() ?? null;
    return this.#current;
  }

  remove(page: T): void {
    this.#pages.delete(page.name);
    if (this.#current === page) this.#current = null;
    for (const { origin } of page.askers) this.#turns.remove(origin, page);
  }

  /** The page to drop for one of this origin: the last of the origin with the most pages that no other origin has requested; null: none. */
  lastOfMost(origin: string): T | null {
    // With only one page more, the other origin would then be the one with fewer.
    const most = this.#turns.most(this.#turns.countOf(origin) + 1);
    const isIts = (page: T) => page.askers.every((asker) => asker.origin === most?.origin);
    return [...(most?.values ?? [])].reverse().find((page) => page !== this.#current && isIts(page)) ?? null;
  }
}
