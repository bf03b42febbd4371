/**
 * When a process exchanges its counts: soon after a change, but at least `everyMs` after the last exchange; without changes once a second, since some
 * numbers change unnoticed. Owned by HubTallies and by WorkerTallies.
 */

import { type Alarm, type AlarmHandler, alarmBy, type Clock } from '../../base/clock.js';
import { nextWhole } from '../../base/whole-time.js';
import { LOOK_MS } from './tally-messages.js';

export class TallyAlarm implements AlarmHandler {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #exchange: (nowMs: number) => boolean;
  #alarm: Alarm | null = null;
  /** When counts were last exchanged, monotonic milliseconds. */
  #lastMs = Number.NEGATIVE_INFINITY;
  #isStopped = true;

  /** @param exchange returns whether there may be more to exchange soon */
  constructor(clock: Clock, everyMs: number, exchange: (nowMs: number) => boolean) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#exchange = exchange;
  }

  start(): void {
    this.#isStopped = false;
  }

  stop(): void {
    this.#isStopped = true;
    this.#alarm?.cancel();
    this.#alarm = null;
  }

  onChange(): void {
    this.#runBy(Math.max(this.#lastMs + this.#everyMs, this.#clock.now()));
  }

  /** Exchanges at once. */
  run(nowMs: number): void {
    this.#lastMs = nowMs;
    const isMore = this.#exchange(nowMs);
    this.#runBy(isMore ? nowMs + this.#everyMs : nextWhole(LOOK_MS, nowMs));
  }

  onAlarm(nowMs: number): void {
    this.#alarm = null;
    this.run(nowMs);
  }

  #runBy(dueMs: number): void {
    if (!this.#isStopped) this.#alarm = alarmBy(dueMs, this.#clock, this.#alarm, this);
  }
}
