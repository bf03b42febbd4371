/** Runs asynchronous tasks one after the other. A failed task does not stop the next. */

export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Settles as the task does. */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Resolves when all tasks so far have ended. */
  get settled(): Promise<unknown> {
    return this.#last;
  }
}
