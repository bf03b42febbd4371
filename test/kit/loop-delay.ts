/** How late this process's own event loop was, for tests that compare with a real clock: it is allowed on top of what is promised. */

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

  /** All delays together: several may fall into one gap. */
  get totalMs(): number {
    return this.#totalMs + this.#nowLateMs;
  }

  reset(): void {
    this.#worstMs = this.#totalMs = 0;
    this.#lastMs = performance.now();
  }

  /** Also of the tick that is due and has not come yet. A timer's usual few ms are none. */
  get #nowLateMs(): number {
    const lateMs = performance.now() - this.#lastMs - TICK_MS;
    return lateMs > TICK_MS ? lateMs : 0;
  }
}

/** How long something takes, in ms, without the delays of this process. */
export async function timeOf(t: Test, act: () => Promise<unknown>): Promise<number> {
  const late = new LoopDelay(t);
  const startMs = performance.now();
  await act();
  return performance.now() - startMs - late.totalMs;
}
