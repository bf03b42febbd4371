/** Fakes the timers and the monotonic clock of this process, which stand still until a test moves them. The event loop runs normally. */

import type { Test } from 'tap';

interface FakeTimer {
  readonly run: () => void;
  readonly everyMs: number | null;
  dueMs: number;
}

export class FakeTimers {
  #nowMs = Math.ceil(performance.now());
  readonly #timers = new Map<unknown, FakeTimer>();

  constructor(t: Test) {
    const real = { setTimeout, setInterval, clearTimeout, clearInterval };
    const { now } = performance;
    const add = (run: (...args: unknown[]) => void, ms: number, everyMs: number | null, args: unknown[]) => {
      const handle = { ref: () => handle, unref: () => handle };
      this.#timers.set(handle, { run: () => run(...args), everyMs, dueMs: this.#nowMs + ms });
      return handle;
    };
    const clear = (handle: NodeJS.Timeout) => {
      if (!this.#timers.delete(handle)) real.clearTimeout(handle);
    };
    const fake = {
      setTimeout: (run: () => void, ms = 0, ...args: unknown[]) => add(run, ms, null, args),
      setInterval: (run: () => void, ms: number, ...args: unknown[]) => add(run, ms, ms, args),
      clearTimeout: clear,
      clearInterval: clear,
    };
    Object.assign(globalThis, fake);
    performance.now = () => this.#nowMs;
    t.teardown(() => {
      Object.assign(globalThis, real);
      performance.now = now;
    });
  }

  /** Simulates a stalled process: timers that are due meanwhile fire late. */
  stall(ms: number): void {
    this.#nowMs += ms;
  }

  /** Runs the timers that are due meanwhile, in order; waits for the effects of each before the next. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      await turn();
      const [handle, timer] = [...this.#timers].sort(([, a], [, b]) => a.dueMs - b.dueMs)[0] ?? [];
      if (timer === undefined || timer.dueMs > endMs) break;
      this.#nowMs = Math.max(this.#nowMs, timer.dueMs);
      if (timer.everyMs === null) this.#timers.delete(handle);
      else timer.dueMs = this.#nowMs + timer.everyMs;
      timer.run();
    }
    this.#nowMs = endMs;
  }
}

/** Lets pending promises settle. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
