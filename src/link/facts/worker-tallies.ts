/**
 * A worker's side of the shared counts: sends what has changed here, and applies the counts of the others that the hub sends. Owned by WorkerLink.
 */

import type { Tallies } from '../../base/tallies.js';
import { MAX_TALLY_ROWS, type TallyMessage } from './tally-messages.js';

/** Sends tallies to the hub. */
export interface TallySender {
  /** Whether the receiver does not keep up. Changes then wait, at most one per key. */
  readonly isFull: boolean;
  /** Whether nothing is ever sent to it, so that no counts of others are kept for it. */
  readonly isDeaf?: boolean;
  send(message: TallyMessage): void;
}

export class WorkerTallies {
  readonly #tallies: Tallies;
  #sender: TallySender | null = null;

  constructor(tallies: Tallies) {
    this.#tallies = tallies;
  }

  /** A new hub, which knows nothing of this process yet. Known counts of others stay until it sends its own. */
  connect(sender: TallySender): void {
    this.#sender = sender;
    this.#tallies.share();
    this.say();
  }

  lose(): void {
    this.#sender = null;
  }

  /** Called every TALLY_MS. */
  say(): void {
    if (this.#sender === null || this.#sender.isFull) return;
    const rows = this.#tallies.take(MAX_TALLY_ROWS);
    if (rows !== null) this.#sender.send({ type: 'tallies', rows, isFirst: false });
  }

  onMessage({ rows, isFirst }: TallyMessage): void {
    this.#tallies.apply(rows, isFirst);
  }
}
