/**
 * A worker's side of the shared counts: sends what has changed here, and applies the counts of the others that the hub sends. While nothing changes
 * it looks once a second, for numbers that only a look finds. Owned by WorkerLink.
 */

import { type Alarm, type AlarmHandler, alarmBy, type Clock } from '../../base/clock.js';
import type { Tallies } from '../../base/tallies.js';
import { nextWhole } from '../../base/whole-time.js';
import { LOOK_MS, MAX_TALLY_ROWS, TALLY_MS, type TallyMessage } from './tally-messages.js';

/** Sends tallies to the hub. */
export interface TallySender {
  /** Whether the receiver does not keep up. Changes then wait, at most one per key. */
  readonly isFull: boolean;
  /** Whether nothing is ever sent to it, so that no counts of others are kept for it. */
  readonly isDeaf?: boolean;
  send(message: TallyMessage): void;
}

export class WorkerTallies implements AlarmHandler {
  readonly #tallies: Tallies;
  readonly #clock: Clock;
  #sender: TallySender | null = null;
  #alarm: Alarm | null = null;
  /** When changes were sent, or looked for, last, monotonic milliseconds. */
  #saidMs = Number.NEGATIVE_INFINITY;

  constructor(tallies: Tallies, clock: Clock) {
    this.#tallies = tallies;
    this.#clock = clock;
    tallies.onChange = () => {
      if (this.#sender !== null) this.#sayBy(Math.max(this.#saidMs + TALLY_MS, clock.now()));
    };
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

  /** Sends what has changed. */
  say(): void {
    if (this.#sender === null) return;
    const nowMs = this.#clock.now();
    this.#saidMs = nowMs;
    const rows = this.#sender.isFull ? undefined : this.#tallies.take(MAX_TALLY_ROWS);
    if (rows) this.#sender.send({ type: 'tallies', rows, isFirst: false });
    // There may be more, or more of the same.
    this.#sayBy(rows === null ? nextWhole(LOOK_MS, nowMs) : nowMs + TALLY_MS);
  }

  onAlarm(): void {
    this.#alarm = null;
    this.say();
  }

  #sayBy(dueMs: number): void {
    this.#alarm = alarmBy(dueMs, this.#clock, this.#alarm, this);
  }

  onMessage({ rows, isFirst }: TallyMessage): void {
    this.#tallies.apply(rows, isFirst);
  }
}
