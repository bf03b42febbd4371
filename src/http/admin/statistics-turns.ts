/**
 * Answers of statistics take turns: an answer can be tens of megabytes while it is made, and is held until its reader has it. So one is made at a
 * time, and few have a place at all, from when they are asked for until their response is closed. Past that they are refused. Owned by
 * registerStatistics.
 */

import type { ServerResponse } from 'node:http';
import { Refusal, retryLater } from '../../base/refusal.js';

/** For the few who have the right to read: an operator page asks for one or two at a time. */
export const STATISTICS_PLACES = 8;
const RETRY_SECONDS = 2;

export class StatisticsTurns {
  #taken = 0;
  /** Settled once the last that has a place has been made. */
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Resolves with what `make` made in its turn. Rejects with Refusal unavailable where no place is free or the response is closed; as `make` does.
   */
  async take<T>(response: ServerResponse, make: () => Promise<T>): Promise<T> {
    // A response that is closed already would never say so again.
    if (response.destroyed) throw clientGone();
    if (this.#taken >= STATISTICS_PLACES) {
      throw retryLater('unavailable', 'Too many statistics are asked for at once.', RETRY_SECONDS);
    }
    this.#taken++;
    const made = this.#last.then(() => (response.destroyed ? Promise.reject(clientGone()) : make()));
    this.#last = made.catch(() => undefined);
    // One that has gone keeps its place until its turn is over: its answer is being made still.
    response.once('close', () => void this.#free(made));
    return made;
  }

  async #free(made: Promise<unknown>): Promise<void> {
    await made.catch(() => undefined);
    this.#taken--;
  }
}

function clientGone(): Refusal {
  return new Refusal('unavailable', 'Nobody waits for these statistics any more.');
}
