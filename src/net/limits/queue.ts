/**
 * A queue from which anything can be taken at any time: a doubly linked list, oldest first. A `Set` keeps its order as well, but
 * looks past every hole that its oldest members left before it finds the first one.
 */

/** Where a value stands in its queue; kept by the owner of the value. */
export interface QueueLink<T> {
  readonly value: T;
  before: QueueLink<T> | null;
  after: QueueLink<T> | null;
}

export class Queue<T> {
  #oldest: QueueLink<T> | null = null;
  #newest: QueueLink<T> | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get oldest(): T | undefined {
    return this.#oldest?.value;
  }

  /** Adds it as the newest. */
  add(value: T): QueueLink<T> {
    const link: QueueLink<T> = { value, before: null, after: null };
    this.#append(link);
    return link;
  }

  /** Makes one that stands in this queue the newest. */
  renew(link: QueueLink<T>): void {
    if (link === this.#newest) return;
    this.remove(link);
    this.#append(link);
  }

  /** Takes one out that stands in this queue. */
  remove(link: QueueLink<T>): void {
    if (link.before === null) this.#oldest = link.after;
    else link.before.after = link.after;
    if (link.after === null) this.#newest = link.before;
    else link.after.before = link.before;
    this.#size--;
  }

  #append(link: QueueLink<T>): void {
    link.before = this.#newest;
    link.after = null;
    if (this.#newest === null) this.#oldest = link;
    else this.#newest.after = link;
    this.#newest = link;
    this.#size++;
  }
}
