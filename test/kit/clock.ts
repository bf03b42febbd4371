/** A clock that stands still until a test moves it. Ticks and alarms fire in order while it is advanced. */

import { type Alarm, type AlarmHandler, type Clock, TICK_MS, type Ticker, Wheel } from '../../src/base/clock.js';
import { Watchdog } from '../../src/base/watchdog.js';

export class FakeClock implements Clock {
  readonly watchdog = new Watchdog(this);
  #nowMs: number;
  #wallMs: number;
  #aheadMs: number | null = null;
  readonly #wheel: Wheel;

  constructor(nowMs = 1_000_000, wallMs = Date.UTC(2026, 10, 20, 12, 37, 28)) {
    this.#nowMs = nowMs;
    this.#wallMs = wallMs;
    this.#wheel = new Wheel(nowMs, this.watchdog);
  }

  now(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#aheadMs === null ? this.#wallMs : this.#nowMs + this.#aheadMs;
  }

  follow(aheadMs: number): void {
    this.#aheadMs = aheadMs;
  }

  get skewMs(): number {
    return this.#wallMs - this.wallMs();
  }

  everyTick(ringer: AlarmHandler): Ticker {
    return this.#wheel.everyTick(ringer);
  }

  alarm(dueMs: number, ringer: AlarmHandler): Alarm {
    return this.#wheel.add(dueMs, ringer);
  }

  /** Sets the wall clock, as an operator or NTP does; the monotonic clock is not affected. */
  stepWall(ms: number): void {
    this.#wallMs += ms;
  }

  /** Simulates work of this duration: both clocks advance, and nothing fires meanwhile. */
  spend(ms: number): void {
    this.#nowMs += ms;
    this.#wallMs += ms;
  }

  /** Advances both clocks, tick by tick. */
  advance(ms: number): void {
    let left = ms;
    while (left > 0) {
      const step = Math.min(left, TICK_MS);
      this.spend(step);
      left -= step;
      this.#wheel.turn(this.#nowMs);
    }
  }
}
