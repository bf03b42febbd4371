/**
 * Pages of history that wait to be rendered, each for all origins that asked for it (base/ip.ts). Origins take turns; the page whose turn it is stays
 * the first until it is removed.
 *
 *   origins   a: 1 2 3    b: 4    c: 2      turns: a1 b4 c2 a3
 *
 * Owned by HistoryPages.
 */

interface QueuedPage {
  readonly name: string;
  readonly askers: readonly { readonly origin: string }[];
}

export class HistoryQueue<T extends QueuedPage> {
  readonly #pages = new Map<string, T>();
  /** In the order of their turns. None is empty. */
  readonly #origins = new Map<string, Set<T>>();
  #current: T | null = null;

  get size(): number {
    return this.#pages.size;
  }

  get(name: string): T | undefined {
    return this.#pages.get(name);
  }

  /** The page is wanted there: a new one, or one that others have asked for. */
  add(page: T, origin: string): void {
    this.#pages.set(page.name, page);
    const own = this.#origins.get(origin);
    if (own === undefined) this.#origins.set(origin, new Set([page]));
    else own.add(page);
  }

  /** The page whose turn it is; null: none waits. */
  next(): T | null {
    const [first] = this.#origins;
    if (this.#current !== null || first === undefined) return this.#current;
    const [origin, own] = first;
    // Others first.
    this.#origins.delete(origin);
    this.#origins.set(origin, own);
    [this.#current = null] = own;
    return this.#current;
  }

  remove(page: T): void {
    this.#pages.delete(page.name);
    if (this.#current === page) this.#current = null;
    for (const { origin } of page.askers) {
      const own = this.#origins.get(origin);
      own?.delete(page);
      if (own?.size === 0) this.#origins.delete(origin);
    }
  }

  /** What makes room for a page of this origin: the last one of the origin with most, of those that nobody else wants; null: nothing does. */
  lastOfMost(origin: string): T | null {
    // An origin with one page more would have one less then.
    let [most, largest] = ['', (this.#origins.get(origin)?.size ?? 0) + 1];
    for (const [each, { size }] of this.#origins) if (size > largest) [most, largest] = [each, size];
    const all = [...(this.#origins.get(most) ?? [])].reverse();
    return all.find((page) => page !== this.#current && page.askers.every((asker) => asker.origin === most)) ?? null;
  }
}
