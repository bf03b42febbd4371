/**
 * A worker's side of what all processes count together: says what has changed here, and takes what the hub says of the others. Owned by WorkerLink.
 */

import type { Tallies } from '../../base/tallies.js';
import { MAX_TALLY_ROWS, type TallyMessage } from './tally-messages.js';

/** To the hub. */
export interface TallySender {
  /** Whether it does not keep up: what is to be said waits, and grows no further than what is counted. */
  readonly isFull: boolean;
  /** It is said nothing, ever: what others have is not kept for it. */
  readonly isDeaf?: boolean;
  send(message: TallyMessage): void;
}

export class WorkerTallies {
  readonly #tallies: Tallies;
  #sender: TallySender | null = null;

  constructor(tallies: Tallies) {
    this.#tallies = tallies;
  }

  /** A hub that knows nothing of this process yet; what was known of the others holds until it says more. */
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
