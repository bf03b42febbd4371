/**
 * Now, and one coarse shared timer. Everything that happens "every so often" or "at about that moment" rides on a single tick
 * of 40 ms: no timer per listener, session or watcher. Alarms lie in a wheel of buckets, one bucket per tick:
 *
 *   bucket = (due / 40) mod 512   …│ a b │   │ c │ …   an alarm further off than one turn is looked at once per turn
 *
 * Tests pass a clock of their own (test/kit/clock.ts); the system clock is made in app/app.ts and stopped by it.
 */

import { createHistogram, PerformanceObserver, performance, type RecordableHistogram } from 'node:perf_hooks';
import { Watchdog } from './watchdog.js';

/** A wake-up costs some 80 µs of CPU wherever it was measured, work or not: 20 ms cost 0.4 % of a core, 40 ms half of that. */
export const TICK_MS = 40;
const BUCKETS = 512;
/** A wall clock that differs by this much is wrong: NTP keeps it within a tenth of that. */
export const WRONG_CLOCK_MS = 500;

/** Something to be woken. `onAlarm` runs at most TICK_MS late; it is free to set a new alarm. */
export interface AlarmHandler {
  onAlarm(nowMs: number): void;
}

export class Alarm {
  readonly dueMs: number;
  handler: AlarmHandler | null;
  constructor(dueMs: number, handler: AlarmHandler) {
    this.dueMs = dueMs;
    this.handler = handler;
  }
  /** No call after this. Idempotent. */
  cancel(): void {
    this.handler = null;
  }
}

export interface Clock {
  /** Measures work that may block the event loop; whatever does such work reports it. */
  readonly watchdog: Watchdog;
  /** Monotonic milliseconds, for durations. */
  now(): number;
  /** Unix milliseconds, for what people read: by this machine's wall clock, or by the time that it follows. */
  wallMs(): number;
  /**
   * From now on `wallMs()` is `now() + aheadMs`, whatever this machine's wall clock is set to: the machines of a cluster have one time (src/cluster).
   */
  follow(aheadMs: number): void;
  /** How far this machine's wall clock is ahead of the time that is followed, milliseconds; 0: none is followed. */
  readonly skewMs: number;
  /** Calls `onAlarm` on every tick, for ever. */
  everyTick(handler: AlarmHandler): void;
  /** Calls `onAlarm` once when now() ≥ dueMs. */
  alarm(dueMs: number, handler: AlarmHandler): Alarm;
}

/** The wheel itself, driven by its owner: `turn(now)` calls all that is due. */
export class Wheel {
  readonly #buckets: Alarm[][] = Array.from({ length: BUCKETS }, () => []);
  readonly #tickers: AlarmHandler[] = [];
  readonly #watchdog: Watchdog;
  #doneTick: number;

  constructor(nowMs: number, watchdog: Watchdog) {
    this.#watchdog = watchdog;
    this.#doneTick = Math.floor(nowMs / TICK_MS);
  }

  add(dueMs: number, handler: AlarmHandler): Alarm {
    const alarm = new Alarm(dueMs, handler);
    // Rounded up, so that no call comes too soon; never into a bucket that this turn has passed already.
    const tick = Math.max(Math.ceil(dueMs / TICK_MS), this.#doneTick + 1);
    this.#buckets[tick % BUCKETS]!.push(alarm);
    return alarm;
  }

  everyTick(handler: AlarmHandler): void {
    this.#tickers.push(handler);
  }

  turn(nowMs: number): void {
    const tick = Math.floor(nowMs / TICK_MS);
    const first = Math.max(this.#doneTick + 1, tick - BUCKETS + 1);
    for (let t = first; t <= tick; t++) {
      this.#doneTick = t;
      this.#turnBucket(t % BUCKETS, nowMs);
    }
    for (const ticker of this.#tickers) this.#call(ticker, nowMs);
  }

  #turnBucket(index: number, nowMs: number): void {
    const bucket = this.#buckets[index]!;
    if (bucket.length === 0) return;
    const kept: Alarm[] = [];
    this.#buckets[index] = kept;
    for (const alarm of bucket) {
      const handler = alarm.handler;
      if (handler === null) continue;
      if (alarm.dueMs > nowMs) kept.push(alarm);
      else {
        alarm.handler = null;
        this.#call(handler, nowMs);
      }
    }
  }

  #call(handler: AlarmHandler, nowMs: number): void {
    const startMs = this.#watchdog.begin();
    handler.onAlarm(nowMs);
    // The name of a literal's class says nothing.
    if (this.#watchdog.end('timer', startMs) && !isPlain(handler)) this.#watchdog.blame(handler.constructor.name);
  }
}

function isPlain(handler: AlarmHandler): boolean {
  return handler.constructor === Object;
}

export class SystemClock implements Clock {
  readonly watchdog = new Watchdog(this);
  /** How late each tick came, microseconds (at least 1): the delay of the event loop, at no wake-up of its own. */
  readonly lateMicros: RecordableHistogram = createHistogram();
  readonly #wheel = new Wheel(performance.now(), this.watchdog);
  readonly #timer = setInterval(() => this.#tick(), TICK_MS);
  readonly #collector = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) this.watchdog.collected(duration);
  });
  #lastMs = performance.now();
  #lastRan = process.cpuUsage();
  /** As `follow` has it; null: the machine's wall clock counts. */
  #aheadMs: number | null = null;

  constructor() {
    this.#collector.observe({ entryTypes: ['gc'] });
    this.watchdog.watchProcess();
  }

  now(): number {
    return performance.now();
  }

  wallMs(): number {
    return this.#aheadMs === null ? Date.now() : Math.round(performance.now() + this.#aheadMs);
  }

  follow(aheadMs: number): void {
    this.#aheadMs = aheadMs;
  }

  get skewMs(): number {
    return this.#aheadMs === null ? 0 : Date.now() - this.wallMs();
  }

  everyTick(handler: AlarmHandler): void {
    this.#wheel.everyTick(handler);
  }

  alarm(dueMs: number, handler: AlarmHandler): Alarm {
    return this.#wheel.add(dueMs, handler);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#collector.disconnect();
  }

  #tick(): void {
    const nowMs = performance.now();
    const lateMs = nowMs - this.#lastMs - TICK_MS;
    this.lateMicros.record(Math.max(1, Math.round(lateMs * 1000)));
    const ran = process.cpuUsage();
    this.watchdog.late(lateMs, (ran.user + ran.system - this.#lastRan.user - this.#lastRan.system) / 1000);
    this.#lastRan = ran;
    this.#lastMs = nowMs;
    this.#wheel.turn(nowMs);
  }
}
