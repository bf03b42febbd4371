/**
 * Limits titles of encoders and upstreams: a bucket for each channel and origin, as large as that of pushes, since each title costs a
 * flush of the disk, a line of history and a message to every reader.
 * Invariant: the newest title is never lost. Beyond the limit it replaces the waiting one, and is committed when the bucket allows.
 * Owned by title-service.ts.
 */

import type { Alarm, Clock } from '../base/clock.js';
import type { Rate } from '../net/limits/rate.js';

/** Commits a title; resolves with whether it counts against the limit. Never rejects. */
export type CommitTitle = () => Promise<boolean>;

interface WaitingTitle {
  readonly commit: CommitTitle;
  readonly alarm: Alarm;
}

export class TitleRate {
  readonly #clock: Clock;
  readonly #rate: Rate;
  readonly #onDelayed: (channel: string) => void;
  /** Channel and origin → the newest title beyond the limit. */
  readonly #waiting = new Map<string, WaitingTitle>();

  /**
   * @param rate remembers at least as many keys as there are channels and origins
   * @param onDelayed called for each title beyond the limit
   */
  constructor(clock: Clock, rate: Rate, onDelayed: (channel: string) => void) {
    this.#clock = clock;
    this.#rate = rate;
    this.#onDelayed = onDelayed;
  }

  /** A new title, which replaces a waiting one of the same origin. Resolves when it is committed, or at once if it has to wait. */
  async offer(channel: string, origin: string, commit: CommitTitle): Promise<void> {
    const key = `${channel} ${origin}`;
    const waiting = this.#waiting.get(key);
    if (this.#rate.take(key) > 0) {
      this.#onDelayed(channel);
      this.#waiting.set(key, { commit, alarm: waiting?.alarm ?? this.#alarm(key) });
      return;
    }
    waiting?.alarm.cancel();
    this.#waiting.delete(key);
    // A title that changes nothing does not count.
    if (!(await commit())) this.#rate.giveBack(key);
  }

  /** Commits all waiting titles, before the end. */
  async close(): Promise<void> {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { alarm } of all) alarm.cancel();
    await Promise.all(all.map(({ commit }) => commit()));
  }

  #alarm(key: string): Alarm {
    return this.#clock.alarm(this.#clock.now() + this.#rate.waitMs(key), { onAlarm: () => this.#commitWaiting(key) });
  }

  #commitWaiting(key: string): void {
    const { commit } = this.#waiting.get(key)!;
    this.#waiting.delete(key);
    this.#rate.takeAvailable(key);
    void commit().then((didCost) => {
      if (!didCost) this.#rate.giveBack(key);
    });
  }
}
