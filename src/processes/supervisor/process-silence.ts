/**
 * How long a process has said nothing, but for the time in which it would have run and others had all processors: such a one does not hang, and to
 * kill it would make the machine still busier.
 */

import { readFileSync } from 'node:fs';

const MS_PER_NS = 1e-6;

export interface ProcessorUse {
  /** It runs, or would where it had a processor: it does not sleep, wait for a disk, or stand still. */
  readonly isRunnable: boolean;
  /** Since it began, milliseconds. */
  readonly ranMs: number;
}

/** Of its main thread (proc(5): stat and schedstat). Not runnable where the system does not say, or it has ended. */
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
  /** When its use of processors was looked at last, what it had run until then, and how much it was given in all. */
  #looked: { atMs: number; ranMs: number; givenMs: number } | null = null;

  /** @param maxGivenMs how much of one silence it may have waited for a processor */
  constructor(maxGivenMs: number) {
    this.#maxGivenMs = maxGivenMs;
  }

  ms(nowMs: number): number {
    return nowMs - this.#sinceMs;
  }

  /** It has said something. */
  end(): void {
    this.#sinceMs = performance.now();
    this.#looked = null;
  }

  /** What it has said may wait to be read. */
  cut(maxMs: number, nowMs: number): void {
    this.#sinceMs = Math.max(this.#sinceMs, nowMs - maxMs);
  }

  /** Takes off what it has waited for a processor since the last look at this silence. */
  look(pid: number, nowMs: number): void {
    const { isRunnable, ranMs } = processorUse(pid);
    const { atMs, ranMs: before, givenMs } = this.#looked ?? { atMs: nowMs, ranMs, givenMs: 0 };
    const waitedMs = isRunnable ? Math.max(0, nowMs - atMs - (ranMs - before)) : 0;
    const moreMs = Math.min(waitedMs, this.#maxGivenMs - givenMs);
    this.#looked = { atMs: nowMs, ranMs, givenMs: givenMs + moreMs };
    this.#sinceMs += moreMs;
  }
}
