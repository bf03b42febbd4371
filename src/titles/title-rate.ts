/**
 * How often titles of encoders and upstreams become records: a bucket for each channel and teller, as large as that of pushes, since
 * each costs a flush of the disk, a line of history and a message to every reader, and who sends them may be a stranger.
 * Invariant: the newest is never lost. One that comes past the limit takes the place of what waits there, and is committed when the
 * bucket allows; whoever told it waits for nothing. Owned by service.ts.
 */

import type { Alarm, Clock } from '../base/clock.js';
import type { Rate } from '../net/rate.js';

/** Commits one title; resolves with whether it cost something. Never rejects. */
export type CommitTitle = () => Promise<boolean>;

interface WaitingTitle {
  readonly commit: CommitTitle;
  readonly alarm: Alarm;
}

export class TitleRate {
  readonly #clock: Clock;
  readonly #rate: Rate;
  readonly #onHeld: (channel: string) => void;
  /** Channel and teller → the newest that came past the limit. */
  readonly #waiting = new Map<string, WaitingTitle>();

  /**
   * @param rate remembers at least as many keys as there are channels and tellers
   * @param onHeld told of each title that was not committed at once
   */
  constructor(clock: Clock, rate: Rate, onHeld: (channel: string) => void) {
    this.#clock = clock;
    this.#rate = rate;
    this.#onHeld = onHeld;
  }

  /** A title was told: what waited of the same teller is not needed any more. Resolves when it is committed, or at once if it waits. */
  async take(channel: string, teller: string, commit: CommitTitle): Promise<void> {
    const key = `${channel} ${teller}`;
    const waiting = this.#waiting.get(key);
    if (this.#rate.take(key) > 0) {
      this.#onHeld(channel);
      this.#waiting.set(key, { commit, alarm: waiting?.alarm ?? this.#alarm(key) });
      return;
    }
    waiting?.alarm.cancel();
    this.#waiting.delete(key);
    // One that says nothing new is nothing.
    if (!(await commit())) this.#rate.giveBack(key);
  }

  /** Commits all that waits, for the end. */
  async close(): Promise<void> {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { alarm } of all) alarm.cancel();
    await Promise.all(all.map(({ commit }) => commit()));
  }

  #alarm(key: string): Alarm {
    return this.#clock.alarm(this.#clock.now() + this.#rate.waitMs(key), { onAlarm: () => this.#look(key) });
  }

  #look(key: string): void {
    const { commit } = this.#waiting.get(key)!;
    if (this.#rate.take(key) > 0) {
      this.#waiting.set(key, { commit, alarm: this.#alarm(key) });
      return;
    }
    this.#waiting.delete(key);
    void commit().then((didCost) => {
      if (!didCost) this.#rate.giveBack(key);
    });
  }
}
