/**
 * The delay that a shared machine causes: this process did not run (loop-delay.ts), or the measured one was ready to run and got no core
 * (Linux, /proc/PID/schedstat). A measured time is compared after this is subtracted.
 */

import { readFileSync } from 'node:fs';
import type { Test } from 'tap';
import { LoopDelay } from './loop-delay.js';

/** The file is read no more often. */
const FRESH_MS = 5;

export class MachineDelay {
  readonly #lateness: LoopDelay;
  readonly #path: string;
  #firstMs = 0;
  #waitedMs = 0;
  #readMs = Number.NEGATIVE_INFINITY;

  /** @param pid of the process that is waited for: its main thread */
  constructor(t: Test, pid: number) {
    this.#lateness = new LoopDelay(t);
    this.#path = `/proc/${pid}/task/${pid}/schedstat`;
    this.#firstMs = this.#queuedMs();
  }

  /** Of both, since the beginning; never falls but by the few ms of a tick that was not late after all. */
  get totalMs(): number {
    const nowMs = performance.now();
    if (nowMs - this.#readMs >= FRESH_MS) {
      this.#readMs = nowMs;
      this.#waitedMs = this.#queuedMs() - this.#firstMs;
    }
    return this.#waitedMs + this.#lateness.totalMs;
  }

  /** As last seen where the system does not say, or the process has ended. */
  #queuedMs(): number {
    try {
      return Number(readFileSync(this.#path, 'latin1').split(' ')[1]) / 1e6;
    } catch {
      return this.#firstMs + this.#waitedMs;
    }
  }
}
