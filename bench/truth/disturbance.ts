/**
 * Whether a busy machine held up a moment of the experiment: this process's timer was late, or the server was ready to run and got no core
 * (Linux, /proc/PID/schedstat). What was measured then says nothing about the server. Owned by one encoder.
 */

import { readFileSync } from 'node:fs';

/** A moment is over when so much time has passed: the frame and the push have been read. */
const SPAN_MS = 100;
/** About half a frame. */
const MAX_MS = 15;

export class Disturbance {
  readonly #path: string;
  /** Titles whose moment was held up. */
  readonly numbers = new Set<number>();
  #lastTickMs = 0;
  readonly #open: { readonly number: number; readonly atMs: number; readonly waitedMs: number }[] = [];

  /** @param pid of the server: its main thread */
  constructor(pid: number) {
    this.#path = `/proc/${pid}/task/${pid}/schedstat`;
  }

  /** Something that counts happens to this title now. */
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

  /** How long it has waited for a core, in all; 0 where the system does not say. */
  #waitedMs(): number {
    try {
      return Number(readFileSync(this.#path, 'latin1').split(' ')[1]) / 1e6;
    } catch {
      return 0;
    }
  }
}
