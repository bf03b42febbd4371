/** Measures the delay of this process's event loop, which tests with a real clock allow in addition to a promised time. */

import type { Test } from 'tap';

const TICK_MS = 10;

export class LoopDelay {
  #worstMs = 0;
  #totalMs = 0;
  #lastMs = performance.now();

  constructor(t: Test) {
    const timer = setInterval(() => {
      const lateMs = this.#nowLateMs;
      this.#lastMs = performance.now();
      this.#worstMs = Math.max(this.#worstMs, lateMs);
      this.#totalMs += lateMs;
    }, TICK_MS);
    t.teardown(() => clearInterval(timer));
  }

  /** The longest delay since the start or `reset`. */
  get worstMs(): number {
    return Math.max(this.#worstMs, this.#nowLateMs);
  }

  /** The sum of all delays, since several may fall into one gap. */
  get totalMs(): number {
    return this.#totalMs + this.#nowLateMs;
  }

  reset(): void {
    this.#worstMs = this.#totalMs = 0;
    this.#lastMs = performance.now();
  }

  /** The delay of a tick that is due but late. A timer's usual few ms do not count. */
  get #nowLateMs(): number {
    const lateMs = performance.now() - this.#lastMs - TICK_MS;
    return lateMs > TICK_MS ? lateMs : 0;
  }
}

/** The duration of some work, in ms, without this process's delays. */
export async function timeOf(t: Test, act: () => Promise<unknown>): Promise<number> {
  const late = new LoopDelay(t);
  const startMs = performance.now();
  await act();
  return performance.now() - startMs - late.totalMs;
}
