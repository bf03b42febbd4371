/**
 * A circuit breaker: after some failures in a row no call is made for a while, then one finds out whether there is an answer again.
 *
 *   closed ── `after` failures in a row ──► open ── `pauseMs` ──► one call ── answered ──► closed
 *                                             ▲                       └── failed ──┐
 *                                             └────────────────────────────────────┘
 */

import type { Clock } from '../../base/clock.js';

export class Breaker {
  readonly #clock: Clock;
  readonly #after: number;
  readonly #pauseMs: number;
  #failures = 0;
  /** When one call may be tried; +∞ while one is; null: closed. */
  #tryMs: number | null = null;

  constructor(clock: Clock, after: number, pauseMs: number) {
    this.#clock = clock;
    this.#after = after;
    this.#pauseMs = pauseMs;
  }

  get isOpen(): boolean {
    return this.#tryMs !== null;
  }

  /** Whether a call may be made now. Where only one may, this is it: its outcome has to be reported. */
  admit(): boolean {
    if (this.#tryMs === null) return true;
    if (this.#clock.now() < this.#tryMs) return false;
    this.#tryMs = Number.POSITIVE_INFINITY;
    return true;
  }

  /** Reports an answer. True: it was open. */
  answered(): boolean {
    const wasOpen = this.isOpen;
    this.#failures = 0;
    this.#tryMs = null;
    return wasOpen;
  }

  /** Reports a call without an answer. True: it is open from now on. A call from before the pause does not make the pause longer. */
  failed(): boolean {
    const isTrial = this.#tryMs === Number.POSITIVE_INFINITY;
    if (!isTrial && (this.isOpen || ++this.#failures < this.#after)) return false;
    this.#tryMs = this.#clock.now() + this.#pauseMs;
    return !isTrial;
  }
}
