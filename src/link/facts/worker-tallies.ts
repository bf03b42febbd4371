/**
 * A worker's side of the shared counts: sends what has changed here, and applies the counts of the others that the hub sends. Owned by WorkerLink.
 */

import type { Clock } from '../../base/clock.js';
import type { Tallies } from '../../base/tallies.js';
import { TallyAlarm } from './tally-alarm.js';
import { MAX_TALLY_ROWS, TALLY_MS, type TallyMessage } from './tally-messages.js';

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
  readonly #clock: Clock;
  #sender: TallySender | null = null;
  readonly #alarm: TallyAlarm;

  constructor(tallies: Tallies, clock: Clock) {
    this.#tallies = tallies;
    this.#clock = clock;
    this.#alarm = new TallyAlarm(clock, TALLY_MS, () => this.#send());
  }

  /** A new hub, which knows nothing of this process yet. Known counts of others stay until it sends its own. */
  connect(sender: TallySender): void {
    this.#sender = sender;
    this.#alarm.start();
    this.#tallies.share(() => this.#alarm.onChange());
    this.say();
  }

  lose(): void {
    this.#sender = null;
    this.#alarm.stop();
  }

  /** Sends what has changed. */
  say(): void {
    if (this.#sender !== null) this.#alarm.run(this.#clock.now());
  }

  onMessage({ rows, isFirst }: TallyMessage): void {
    this.#tallies.apply(rows, isFirst);
  }

  /** @returns whether there may be more, or more of the same */
  #send(): boolean {
    const rows = this.#sender!.isFull ? undefined : this.#tallies.take(MAX_TALLY_ROWS);
    if (rows) this.#sender!.send({ type: 'tallies', rows, isFirst: false });
    return rows !== null;
  }
}
