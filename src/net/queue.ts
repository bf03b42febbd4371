/**
 * A queue from which anything can be taken at any time: a doubly linked list, oldest first. A `Set` keeps its order as well, but
 * looks past every hole that its oldest members left before it finds the first one.
 */

/** Where a value stands in its queue; for whoever put it there. */
export interface Link<T> {
  readonly value: T;
  before: Link<T> | null;
  after: Link<T> | null;
}

export class Queue<T> {
  #oldest: Link<T> | null = null;
  #newest: Link<T> | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get oldest(): T | undefined {
    return this.#oldest?.value;
  }

  /** Adds it as the newest. */
  add(value: T): Link<T> {
    const link: Link<T> = { value, before: null, after: null };
    this.#append(link);
    return link;
  }

  /** Makes one that stands in this queue the newest. */
  renew(link: Link<T>): void {
    if (link === this.#newest) return;
    this.remove(link);
    this.#append(link);
  }

  /** Takes one out that stands in this queue. */
  remove(link: Link<T>): void {
    if (link.before === null) this.#oldest = link.after;
    else link.before.after = link.after;
    if (link.after === null) this.#newest = link.before;
    else link.after.before = link.before;
    this.#size--;
  }

  #append(link: Link<T>): void {
    link.before = this.#newest;
    link.after = null;
    if (this.#newest === null) this.#oldest = link;
    else this.#newest.after = link;
    this.#newest = link;
    this.#size++;
  }
}
