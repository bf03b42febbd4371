/**
 * What waits for its turn, by origin (base/ip.ts). Origins take turns; of each it is first come, first served.
 *
 *   origins   a: 1 2 3    b: 4    c: 5 6      turns: a1 b4 c5 a2 c6 a3
 */
export class OriginTurns<T> {
  /** In the order of their turns. None is empty. */
  readonly #origins = new Map<string, Set<T>>();
  #size = 0;

  /** What waits for several origins counts for each. */
  get size(): number {
    return this.#size;
  }

  countOf(origin: string): number {
    return this.#origins.get(origin)?.size ?? 0;
  }

  add(origin: string, value: T): void {
    const own = this.#origins.get(origin) ?? new Set();
    if (own.has(value)) return;
    this.#origins.set(origin, own.add(value));
    this.#size++;
  }

  /** False: it did not wait. */
  remove(origin: string, value: T): boolean {
    const own = this.#origins.get(origin);
    if (own?.delete(value) !== true) return false;
    if (own.size === 0) this.#origins.delete(origin);
    this.#size--;
    return true;
  }

  /** Takes all out. */
  clear(): T[] {
    const all = [...this.#origins.values()].flatMap((own) => [...own]);
    this.#origins.clear();
    this.#size = 0;
    return all;
  }

  /** The one whose turn it is, which is still to be removed; undefined: none waits. */
  next(): T | undefined {
    const [first] = this.#origins;
    if (first === undefined) return undefined;
    const [origin, own] = first;
    // Others first.
    this.#origins.delete(origin);
    this.#origins.set(origin, own);
    const [next] = own;
    return next;
  }

  /** Of the origin with most, if it has more than this. */
  most(than: number): { readonly origin: string; readonly values: ReadonlySet<T> } | null {
    let found: { origin: string; values: ReadonlySet<T> } | null = null;
    for (const [origin, values] of this.#origins)
      if (values.size > (found?.values.size ?? than)) found = { origin, values };
    return found;
  }
}
