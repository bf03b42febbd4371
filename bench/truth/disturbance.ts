/**
 * Detects delays by a busy machine at a moment of the experiment: this process's timer was late, or the server was ready to run and got no core
 * (Linux, /proc/PID/schedstat). Measurements at such moments do not count. Owned by one encoder.
 */

import { readFileSync } from 'node:fs';

/** Duration of a moment, in which the frame and the push are read. */
const SPAN_MS = 100;
/** About half a frame. */
const MAX_MS = 15;

export class Disturbance {
  readonly #path: string;
  /** Numbers of titles whose moment was delayed. */
  readonly numbers = new Set<number>();
  #lastTickMs = 0;
  readonly #open: { readonly number: number; readonly atMs: number; readonly waitedMs: number }[] = [];

  /** @param pid of the server; its main thread counts */
  constructor(pid: number) {
    this.#path = `/proc/${pid}/task/${pid}/schedstat`;
  }

  /** Begins a moment of this title. */
  begin(number: number, nowMs: number): void {
    this.#open.push({ number, atMs: nowMs, waitedMs: this.#waitedMs() });
  }

  /** Called by the encoder's timer. @param everyMs its interval */
  tick(nowMs: number, everyMs: number): void {
    if (this.#lastTickMs > 0 && nowMs - this.#lastTickMs - everyMs > MAX_MS)
      for (const { number } of this.#open) this.numbers.add(number);
    this.#lastTickMs = nowMs;
    while (this.#open.length > 0 && nowMs - this.#open[0]!.atMs > SPAN_MS) {
      const { number, waitedMs } = this.#open.shift()!;
      if (this.#waitedMs() - waitedMs > MAX_MS) this.numbers.add(number);
    }
  }

  /** Total time that the server waited for a core; 0: unknown. */
  #waitedMs(): number {
    try {
      return Number(readFileSync(this.#path, 'latin1').split(' ')[1]) / 1e6;
    } catch {
      return 0;
    }
  }
}
