/**
 * Time, new ids and the age of the title in force, for the pure state machine. The age is measured by the monotonic clock, across a restart by the
 * wall clock.
 */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.js';
import { playId, type TrackRecord } from '../metadata/record.js';
import type { Moment } from '../now-playing/effect.js';

/** The real now of a channel, and since when it has been in force, monotonic milliseconds. */
interface Play {
  readonly effectAtMs: number;
  readonly id: string;
  readonly sinceMs: number;
}

export class Moments {
  readonly #clock: Clock;
  readonly #plays = new Map<string, Play>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The present moment on a channel. */
  of(channel: string): Moment {
    const wallMs = this.#clock.wallMs();
    return { channel, wallMs, newId: randomUUID, ageMs: (now) => this.ageMs(channel, now) };
  }

  /** How long the real now of a channel has been in force, milliseconds. The first call for a record starts its time. */
  ageMs(channel: string, now: TrackRecord): number {
    let play = this.#plays.get(channel);
    if (play?.effectAtMs !== now.effectAtMs || play.id !== playId(now)) {
      // 0, unless it was loaded from the store. A clock that was set back meanwhile counts as 0 too.
      const ageMs = Math.max(0, this.#clock.wallMs() - now.effectAtMs);
      play = { effectAtMs: now.effectAtMs, id: playId(now), sinceMs: this.#clock.now() - ageMs };
      this.#plays.set(channel, play);
    }
    return this.#clock.now() - play.sinceMs;
  }
}
