/** Whether this process stood still a moment ago, as where its machine was paused: what it takes for news of others may be its own delay. */

/** How often it is looked, how long nothing was done then, and for how long that counts. */
const LOOK_MS = 100;
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
