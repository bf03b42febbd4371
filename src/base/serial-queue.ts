/** Runs asynchronous work one after the other. Work that fails does not hold up what follows. */

export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Settles as the work does. */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Resolves when all work that was given so far has ended. */
  get settled(): Promise<unknown> {
    return this.#last;
  }
}
