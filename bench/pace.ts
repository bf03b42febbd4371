/**
 * Open-loop load: each piece of work is due at a moment that was fixed before, whatever became of those before it. Who measures from that moment
 * counts the time in which a slow server made the load wait; a loop that sends when it was answered leaves it out (coordinated omission).
 */

import { setTimeout as sleep } from 'node:timers/promises';

const TICK_MS = 1;

/** When each piece of work is due. Pure: times are milliseconds since the start, which the caller brings. */
export class Schedule {
  readonly #perSecond: number;
  readonly #total: number;
  #taken = 0;

  constructor(perSecond: number, total: number) {
    this.#perSecond = perSecond;
    this.#total = total;
  }

  /** Since the start. The first is due at once. */
  dueMs(index: number): number {
    return (index * 1000) / this.#perSecond;
  }

  /** Numbers of the work that is due by now and was not taken yet: none is left out, however late it is asked for. */
  take(elapsedMs: number): { readonly from: number; readonly to: number } {
    const from = this.#taken;
    this.#taken = Math.max(from, Math.min(this.#total, Math.floor((elapsedMs * this.#perSecond) / 1000) + 1));
    return { from, to: this.#taken };
  }

  get isOver(): boolean {
    return this.#taken >= this.#total;
  }
}

/**
 * Calls `onDue` for each piece of work with its moment on performance.now()'s clock, at that moment or as soon after it as this process can.
 * Resolves when the last one was called, or when `signal` ends it.
 */
export async function pace(
  perSecond: number,
  total: number,
  onDue: (index: number, dueAt: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  const schedule = new Schedule(perSecond, total);
  const started = performance.now();
  while (!signal?.aborted) {
    const { from, to } = schedule.take(performance.now() - started);
    for (let index = from; index < to; index++) onDue(index, started + schedule.dueMs(index));
    if (schedule.isOver) return;
    await sleep(TICK_MS);
  }
}
