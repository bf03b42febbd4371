/** Whether this process stood still a moment ago, for instance because its machine was suspended: a time-out may then be its own delay. */

const LOOK_MS = 100;
/** A longer time between two looks is a standstill, which counts for AGO_MS. */
const STILL_MS = 500;
const AGO_MS = 2000;

export class Standstill {
  readonly #timer = setInterval(() => this.#look(), LOOK_MS).unref();
  #lookedMs = performance.now();
  #wokenMs = Number.NEGATIVE_INFINITY;

  get isRecent(): boolean {
    this.#look();
    return performance.now() - this.#wokenMs < AGO_MS;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const nowMs = performance.now();
    if (nowMs - this.#lookedMs > STILL_MS) this.#wokenMs = nowMs;
    this.#lookedMs = nowMs;
  }
}
