/**
 * How long a process has sent nothing, without the time in which it waited for a processor: a process that waits for one does not hang, and killing
 * it would make the machine still busier.
 */

import { readFileSync } from 'node:fs';

const MS_PER_NS = 1e-6;

export interface ProcessorUse {
  /** It runs or waits for a processor: it does not sleep, wait for a disk, or stand still. */
  readonly isRunnable: boolean;
  /** Processor time since its start, milliseconds. */
  readonly ranMs: number;
}

/** Of its main thread (proc(5): stat and schedstat). Not runnable if the system does not say, or the process has ended. */
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
  /** The last look: its time, the processor time until then, and how much of this silence was taken off so far. */
  #looked: { atMs: number; ranMs: number; givenMs: number } | null = null;

  /** @param maxGivenMs how much may be taken off one silence, so that a process that never runs is still noticed */
  constructor(maxGivenMs: number) {
    this.#maxGivenMs = maxGivenMs;
  }

  ms(nowMs: number): number {
    return nowMs - this.#sinceMs;
  }

  /** A message from it was read. */
  end(): void {
    this.#sinceMs = performance.now();
    this.#looked = null;
  }

  /** Shortens the silence to `maxMs`: this process stood still, and messages may wait to be read. */
  cut(maxMs: number, nowMs: number): void {
    this.#sinceMs = Math.max(this.#sinceMs, nowMs - maxMs);
  }

  /** Takes off the time for which it has waited for a processor since the last look. */
  look(pid: number, nowMs: number): void {
    const { isRunnable, ranMs } = processorUse(pid);
    const { atMs, ranMs: before, givenMs } = this.#looked ?? { atMs: nowMs, ranMs, givenMs: 0 };
    const waitedMs = isRunnable ? Math.max(0, nowMs - atMs - (ranMs - before)) : 0;
    const moreMs = Math.min(waitedMs, this.#maxGivenMs - givenMs);
    this.#looked = { atMs: nowMs, ranMs, givenMs: givenMs + moreMs };
    this.#sinceMs += moreMs;
  }
}
