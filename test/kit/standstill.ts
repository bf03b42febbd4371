/**
 * The time that is the machine's and nobody's fault: in which this process stood still (lateness.ts), and in which another one was ready
 * to run and got no core (Linux, /proc/PID/schedstat). What is held against a clock on a shared machine is held against what is left.
 */

import { readFileSync } from 'node:fs';
import type { Test } from 'tap';
import { Lateness } from './lateness.js';

/** The file is read no more often. */
const FRESH_MS = 5;

export class Standstill {
  readonly #lateness: Lateness;
  readonly #path: string;
  readonly #firstMs: number;
  #waitedMs = 0;
  #readMs = Number.NEGATIVE_INFINITY;

  /** @param pid of the process that is waited for: its main thread */
  constructor(t: Test, pid: number) {
    this.#lateness = new Lateness(t);
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

  /** 0 where the system does not say. */
  #queuedMs(): number {
    try {
      return Number(readFileSync(this.#path, 'latin1').split(' ')[1]) / 1e6;
    } catch {
      return this.#waitedMs;
    }
  }
}
