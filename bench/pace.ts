/**
 * Open-loop load: each piece of work is due at a fixed moment, regardless of the earlier ones. Times from that moment include the delays that a slow
 * server causes to the load; a loop that waits for each answer omits them (coordinated omission).
 */

import { setTimeout as sleep } from 'node:timers/promises';

const TICK_MS = 1;

/** When each piece of work is due. Pure: the caller gives times, in milliseconds since the start. */
export class Schedule {
  readonly #perSecond: number;
  readonly #total: number;
  #taken = 0;

  constructor(perSecond: number, total: number) {
    this.#perSecond = perSecond;
    this.#total = total;
  }

  /** Milliseconds since the start. The first is due at once. */
  dueMs(index: number): number {
    return (index * 1000) / this.#perSecond;
  }

  /** The range of work that is due and was not taken yet; nothing is left out, however late the call. */
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
 * Calls `onDue` for each piece of work with its moment by performance.now(), at that moment or as soon after it as possible.
 * Resolves after the last call, or when `signal` ends it.
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
