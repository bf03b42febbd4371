/**
 * Whether a source is reliable. If the switch has left it `stallsPerMinute` times within a minute because it stalled or was lost, it is unsteady
 * until it has delivered for `steadyMs` without being overdue, even over several connections, or has been gone for a minute. Owned by an input.
 */

import type { Health } from './health.js';

export interface SteadinessOptions {
  /** It is unsteady once it was left this often within a minute. */
  readonly stallsPerMinute: number;
  /** How long an unsteady source must have delivered without fault. */
  readonly steadyMs: number;
}

const MINUTE_MS = 60_000;

export class Steadiness {
  readonly #health: Health;
  readonly #options: SteadinessOptions;
  /** Since when it has delivered without being overdue, on the clock. */
  #sinceMs = Number.NEGATIVE_INFINITY;
  /** When it was left because it stalled or was lost, the latest `stallsPerMinute` of them. */
  readonly #leftMs: number[] = [];
  /** Since when it has been gone. */
  #goneSinceMs = Number.NEGATIVE_INFINITY;

  constructor(health: Health, options: SteadinessOptions) {
    this.#health = health;
    this.#options = options;
  }

  /** An overdue frame has arrived. */
  begin(nowMs: number): void {
    this.#sinceMs = nowMs;
  }

  /** Another stream follows. */
  forget(nowMs: number): void {
    this.#goneSinceMs = nowMs;
  }

  /** It was on air, and has failed its listeners. */
  count(nowMs: number): void {
    const { stallsPerMinute, steadyMs } = this.#options;
    if (this.#leftMs.push(nowMs) > stallsPerMinute) this.#leftMs.shift();
    if (this.#leftMs.length < stallsPerMinute || nowMs - this.#leftMs[0]! > MINUTE_MS) return;
    this.#health.unsteady(true, { stallsPerMinute, soundSeconds: steadyMs / 1000 });
  }

  /** Called now and then. @param isGone nothing has arrived since the last loss @param isGood its frames are not overdue */
  look(nowMs: number, isGone: boolean, isGood: boolean): void {
    if (!this.#health.troubles.unsteady) return;
    if (isGone && nowMs - this.#goneSinceMs >= MINUTE_MS) this.#health.forgive();
    else if (isGood && nowMs - this.#sinceMs >= this.#options.steadyMs) this.#health.unsteady(false, {});
  }
}
