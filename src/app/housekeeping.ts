/** What happens once a second, at whole seconds of the clock: each part of the process has its turn, in order. */

import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';
import { nextWhole } from '../base/whole-time.js';

const SECOND_MS = 1000;

export class Housekeeping implements AlarmHandler {
  readonly #clock: Clock;
  readonly #tasks: readonly ((nowMs: number) => void)[];
  #alarm: Alarm;
  /** When it was done last, monotonic milliseconds. */
  turnedMs: number;

  /** @param tasks called with monotonic milliseconds */
  constructor(clock: Clock, tasks: readonly ((nowMs: number) => void)[]) {
    this.#clock = clock;
    this.#tasks = tasks;
    this.turnedMs = clock.now();
    this.#alarm = clock.alarm(nextWhole(SECOND_MS, clock.now()), this);
  }

  stop(): void {
    this.#alarm.cancel();
  }

  onAlarm(nowMs: number): void {
    for (const task of this.#tasks) task(nowMs);
    this.turnedMs = nowMs;
    this.#alarm = this.#clock.alarm(nextWhole(SECOND_MS, nowMs), this);
  }
}
