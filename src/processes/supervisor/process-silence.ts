/**
 * How long a process has sent nothing, not counting the time for which it waited for a processor. A process that waits for one does not hang, and
 * restarting it would only add to the load.
 */

import { readFileSync } from 'node:fs';

const MS_PER_NS = 1e-6;

export interface ProcessorUse {
  /** Whether it runs or waits for a processor, rather than sleeping, waiting for a disk or being stopped. */
  readonly isRunnable: boolean;
  /** CPU time since its start, milliseconds. */
  readonly ranMs: number;
}

/** Returns the use of its main thread (proc(5): stat and schedstat); not runnable if the system does not say or the process has ended. */
export function processorUse(pid: number): ProcessorUse {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const state = stat[stat.lastIndexOf(')') + 2];
    const ranNs = Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[0]);
    return { isRunnable: state === 'R', ranMs: ranNs * MS_PER_NS };
  } catch {
    return { isRunnable: false, ranMs: 0 };
  }
}

/** Times are monotonic milliseconds. */
export class ProcessSilence {
  readonly #maxGivenMs: number;
  #sinceMs = performance.now();
  /** The last look: its time, the CPU time at that moment, and how much has been deducted from this silence so far. */
  #looked: { atMs: number; ranMs: number; givenMs: number } | null = null;

  /** @param maxGivenMs how much may be deducted from one silence, so that a process that never runs is still noticed */
  constructor(maxGivenMs: number) {
    this.#maxGivenMs = maxGivenMs;
  }

  ms(nowMs: number): number {
    return nowMs - this.#sinceMs;
  }

  /** Called when a message from it was read. */
  end(): void {
    this.#sinceMs = performance.now();
    this.#looked = null;
  }

  /** Shortens the silence to `maxMs`: this process stood still, and messages may wait to be read. */
  cut(maxMs: number, nowMs: number): void {
    this.#sinceMs = Math.max(this.#sinceMs, nowMs - maxMs);
  }

  /** Deducts the time for which it has waited for a processor since the last look. */
  look(pid: number, nowMs: number): void {
    const { isRunnable, ranMs } = processorUse(pid);
    const { atMs, ranMs: before, givenMs } = this.#looked ?? { atMs: nowMs, ranMs, givenMs: 0 };
    const waitedMs = isRunnable ? Math.max(0, nowMs - atMs - (ranMs - before)) : 0;
    const moreMs = Math.min(waitedMs, this.#maxGivenMs - givenMs);
    this.#looked = { atMs: nowMs, ranMs, givenMs: givenMs + moreMs };
    this.#sinceMs += moreMs;
  }
}
