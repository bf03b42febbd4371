/** How late this process itself was, for tests that hold something against a real clock: what nobody could do while it stood still. */

import type { Test } from 'tap';

const TICK_MS = 10;

export class Lateness {
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

  /** The longest standstill since the beginning or `reset`. */
  get worstMs(): number {
    return Math.max(this.#worstMs, this.#nowLateMs);
  }

  /** All standstills together: several may fall into one gap. */
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
