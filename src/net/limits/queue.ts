/**
 * A queue from which any entry can be removed: a doubly linked list, oldest first. A `Set` keeps the order as well, but has to skip
 * the holes of all removed members to find its first.
 */

/** The entry of a value, kept by the value's owner. */
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

  /** Adds a value as the newest. */
  add(value: T): QueueLink<T> {
    const link: QueueLink<T> = { value, before: null, after: null };
    this.#append(link);
    return link;
  }

  /** Makes an entry of this queue the newest. */
  renew(link: QueueLink<T>): void {
    if (link === this.#newest) return;
    this.remove(link);
    this.#append(link);
  }

  /** Removes an entry of this queue. */
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
