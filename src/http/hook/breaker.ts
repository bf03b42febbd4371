/**
 * A circuit breaker: after several failures in a row no call is made for a while; then one trial call checks for an answer.
 *
 *   closed ── `after` failures in a row ──► open ── `pauseMs` ──► one call ── answered ──► closed
 *                                             ▲                       └── failed ──┐
 *                                             └────────────────────────────────────┘
 */

import type { Clock } from '../../base/clock.js';

/** The trial number of a call that is not a trial. */
export const ORDINARY = 0;

export class Breaker {
  readonly #clock: Clock;
  readonly #after: number;
  readonly #pauseMs: number;
  #failures = 0;
  /** When the next trial may start (monotonic ms); +∞ during one; null: closed. */
  #tryMs: number | null = null;
  /** Number of the last trial. */
  #trials = 0;

  constructor(clock: Clock, after: number, pauseMs: number) {
    this.#clock = clock;
    this.#after = after;
    this.#pauseMs = pauseMs;
  }

  get isOpen(): boolean {
    return this.#tryMs !== null;
  }

  /** Admits a call: ORDINARY, or the number of a trial, whose outcome must be reported; null: the call may not be made. */
  admit(): number | null {
    if (this.#tryMs === null) return ORDINARY;
    if (this.#clock.now() < this.#tryMs) return null;
    this.#tryMs = Number.POSITIVE_INFINITY;
    return ++this.#trials;
  }

  /** Reports an answer. Returns whether the breaker was open. */
  answered(): boolean {
    const wasOpen = this.isOpen;
    this.#failures = 0;
    this.#tryMs = null;
    return wasOpen;
  }

  /**
   * Reports a call without an answer. Returns whether the breaker has just opened. A call from before the pause neither extends the pause nor
   * ends a trial. @param trial the result of `admit`
   */
  failed(trial: number): boolean {
    const isTrial = trial === this.#trials && this.#tryMs === Number.POSITIVE_INFINITY;
    if (!isTrial && (this.isOpen || ++this.#failures < this.#after)) return false;
    this.#tryMs = this.#clock.now() + this.#pauseMs;
    return !isTrial;
  }
}
