/**
 * Logs whether the shared log is reached. A loss that repeats with the same reason within a minute, for instance if Redis refuses each change, is
 * not logged again unless it lasts; another reason is logged while it is away.
 */

import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';

/** Within it the same loss again, and between two reasons while it is away. */
const SAME_MS = 60_000;
const OTHER_MS = 10_000;

export class ReachLog {
  readonly #log: Log;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #node: string;
  readonly #place: string;
  /** The last result, and the last one that was logged; null: none yet. */
  #isReached: boolean | null = null;
  #said: boolean | null = null;
  #reason = '';
  #saidMs = Number.NEGATIVE_INFINITY;
  #lostMs = 0;

  /** @param place what is reached, in words */
  constructor(log: Log, clock: Pick<Clock, 'now'>, node: string, place: string) {
    this.#log = log;
    this.#clock = clock;
    this.#node = node;
    this.#place = place;
  }

  /** Called after each attempt, and each loss. @param reason null: it is reached */
  note(reason: Error | null): void {
    const nowMs = this.#clock.now();
    const was = this.#isReached;
    this.#isReached = reason === null;
    if (reason === null) {
      if (this.#said === true) return;
      this.#said = true;
      this.#log.info({ node: this.#node }, `${this.#place} is reachable: titles are shared`);
      return;
    }
    if (was !== false) this.#lostMs = nowMs;
    const isSame = reason.message === this.#reason;
    const agoMs = nowMs - this.#saidMs;
    if (
      this.#said === false ? isSame || agoMs < OTHER_MS : isSame && agoMs < SAME_MS && nowMs - this.#lostMs < OTHER_MS
    )
      return;
    this.#said = false;
    this.#reason = reason.message;
    this.#saidMs = nowMs;
    const fields = { node: this.#node, reason: reason.message };
    this.#log.warn(fields, `${this.#place} is unreachable: titles are kept here, and sent when it is back`);
  }
}
