/**
 * Waiting entries by origin (base/ip.ts). Origins take turns; each origin's entries are first come, first served.
 *
 *   origins   a: 1 2 3    b: 4    c: 5 6      turns: a1 b4 c5 a2 c6 a3
 */
export class OriginTurns<T> {
  /** By origin, in the order of their turns; none is empty. */
  readonly #origins = new Map<string, Set<T>>();
  #size = 0;

  /** An entry that waits under several origins counts once for each. */
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

  /** False: it was not waiting. */
  remove(origin: string, value: T): boolean {
    const own = this.#origins.get(origin);
    if (own?.delete(value) !== true) return false;
    if (own.size === 0) this.#origins.delete(origin);
    this.#size--;
    return true;
  }

  /** Removes and returns all entries. */
  clear(): T[] {
    const all = [...this.#origins.values()].flatMap((own) => [...own]);
    this.#origins.clear();
    this.#size = 0;
    return all;
  }

  /** The entry whose turn it is; the caller removes it. Undefined: none waits. */
  next(): T | undefined {
    const [first] = this.#origins;
    if (first === undefined) return undefined;
    const [origin, own] = first;
    // The other origins come first.
    this.#origins.delete(origin);
    this.#origins.set(origin, own);
    const [next] = own;
    return next;
  }

  /** The entries of the origin that has the most, if it has more than `than`. */
  most(than: number): { readonly origin: string; readonly values: ReadonlySet<T> } | null {
    let found: { origin: string; values: ReadonlySet<T> } | null = null;
    for (const [origin, values] of this.#origins)
      if (values.size > (found?.values.size ?? than)) found = { origin, values };
    return found;
  }
}
