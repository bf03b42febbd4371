/**
 * Answers that wait until a change is in force in every worker. A silent worker delays them by APPLY_MS at most. Owned by HubLinks.
 */

import type { Alarm, Clock } from '../base/clock.js';
import type { HubLink } from './hub-link.js';

/** Maximum time that an answer waits for workers. */
const APPLY_MS = 250;

interface WaitingAnswer {
  readonly turn: number;
  readonly resolve: () => void;
  readonly alarm: Alarm;
}

export class AppliedTurns {
  readonly #links: Iterable<Pick<HubLink, 'worker' | 'applied'>>;
  readonly #clock: Clock;
  readonly #waiting = new Set<WaitingAnswer>();

  /** @param links of all workers: a live collection, read at each check */
  constructor(links: Iterable<Pick<HubLink, 'worker' | 'applied'>>, clock: Clock) {
    this.#links = links;
    this.#clock = clock;
  }

  /** Resolves when the change with this number is in force in every worker, or after APPLY_MS. */
  reached(turn: number): Promise<void> {
    if (this.#isApplied(turn)) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        this.#waiting.delete(waiting);
        waiting.alarm.cancel();
        resolve();
      };
      const alarm = this.#clock.alarm(this.#clock.now() + APPLY_MS, { onAlarm: end });
      const waiting = { turn, resolve: end, alarm };
      this.#waiting.add(waiting);
    });
  }

  /** A worker has applied a change, or has ended. */
  onApplied(): void {
    for (const waiting of this.#waiting) if (this.#isApplied(waiting.turn)) waiting.resolve();
  }

  #isApplied(turn: number): boolean {
    for (const { worker, applied } of this.#links) if (worker !== 0 && applied < turn) return false;
    return true;
  }
}
