/**
 * Limits answers of statistics, which may occupy tens of megabytes until their reader has them: one is made at a time, and STATISTICS_PLACES requests
 * are admitted, from their arrival until their response is closed; others are refused. Owned by registerStatistics.
 */

import type { ServerResponse } from 'node:http';
import { clientGone, retryLater } from '../../base/refusal.js';
import { SerialQueue } from '../../base/serial-queue.js';

/** Enough for the few users with the right: an operator page requests one or two at a time. */
export const STATISTICS_TURNS = 8;
const RETRY_SECONDS = 2;

export class StatisticsTurns {
  #taken = 0;
  readonly #answers = new SerialQueue();

  /** Resolves with the result of `make`, called in its turn. Rejects as `make` does, or with Refusal unavailable: full, or the client has gone. */
  async take<T>(response: ServerResponse, make: () => Promise<T>): Promise<T> {
    // A response that is closed already no longer emits 'close'.
    if (response.destroyed) throw clientGone();
    if (this.#taken >= STATISTICS_TURNS) {
      throw retryLater('unavailable', 'Too many requests for statistics at once.', RETRY_SECONDS);
    }
    this.#taken++;
    const made = this.#answers.run(() => (response.destroyed ? Promise.reject(clientGone()) : make()));
    // Even if the client has gone, it counts until its answer has been made.
    response.once('close', () => void this.#free(made));
    return made;
  }

  async #free(made: Promise<unknown>): Promise<void> {
    await made.catch(() => undefined);
    this.#taken--;
  }
}
