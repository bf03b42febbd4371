/**
 * The delay caused by a shared machine: this process did not run (loop-delay.ts), or the measured process was ready to run and got no core
 * (Linux, /proc/PID/schedstat). Tests subtract it from a measured time.
 */

import { readFileSync } from 'node:fs';
import type { Test } from 'tap';
import { LoopDelay } from './loop-delay.js';

/** Minimum between two reads of the file. */
const FRESH_MS = 5;

export class MachineDelay {
  readonly #lateness: LoopDelay;
  readonly #path: string;
  #firstMs = 0;
  #waitedMs = 0;
  #readMs = Number.NEGATIVE_INFINITY;

  /** @param pid of the measured process; its main thread counts */
  constructor(t: Test, pid: number) {
    this.#lateness = new LoopDelay(t);
    this.#path = `/proc/${pid}/task/${pid}/schedstat`;
    this.#firstMs = this.#queuedMs();
  }

  /** Total delay of both processes. It only ever falls by the few ms of a tick that was not late after all. */
  get totalMs(): number {
    const nowMs = performance.now();
    if (nowMs - this.#readMs >= FRESH_MS) {
      this.#readMs = nowMs;
      this.#waitedMs = this.#queuedMs() - this.#firstMs;
    }
    return this.#waitedMs + this.#lateness.totalMs;
  }

  /** The last known value if the system does not report it, or the process has ended. */
  #queuedMs(): number {
    try {
      return Number(readFileSync(this.#path, 'latin1').split(' ')[1]) / 1e6;
    } catch {
      return this.#firstMs + this.#waitedMs;
    }
  }
}
