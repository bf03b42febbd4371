/**
 * Now, and one coarse shared timer. Everything that happens "every so often" or "at about that moment" rides on a single tick
 * of 40 ms: no timer per listener, session or watcher. Alarms lie in a wheel of buckets, one bucket per tick:
 *
 *   bucket = (due / 40) mod 512   …│ a b │   │ c │ …   an alarm further off than one turn is looked at once per turn
 *
 * It ticks only while a ticker runs (there are listeners, watchers …). Else it rests until the next alarm is due, as each wake-up costs CPU time:
 *
 *   a ticker runs   │ │ │ │ │ │ │ │ │ │        rests   │      │  │              │
 *                   40 ms each                         alarms, at their buckets' times
 *
 * Tests pass a clock of their own (test/kit/clock.ts); the system clock is made in app/app.ts and stopped by it.
 */

import { createHistogram, PerformanceObserver, performance, type RecordableHistogram } from 'node:perf_hooks';
import { Watchdog } from './watchdog.js';
import { msUntil } from './whole-time.js';

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

/** What is called on every tick while it runs. A handler without work lets it rest. */
export class Ticker {
  readonly handler: AlarmHandler;
  readonly #onSwitch: (isRunning: boolean) => void;
  #isRunning = false;

  /** @param onSwitch called when it begins to run, and when it begins to rest */
  constructor(handler: AlarmHandler, onSwitch: (isRunning: boolean) => void) {
    this.handler = handler;
    this.#onSwitch = onSwitch;
    this.run();
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** The next call comes within TICK_MS. Idempotent. */
  run(): void {
    if (!this.#isRunning) this.#switch(true);
  }

  /** No call until it runs again. Idempotent. */
  rest(): void {
    if (this.#isRunning) this.#switch(false);
  }

  #switch(isRunning: boolean): void {
    this.#isRunning = isRunning;
    this.#onSwitch(isRunning);
  }
}

/** This alarm, or one that comes sooner, at `dueMs`. @param alarm null: there is none */
export function alarmBy(dueMs: number, clock: Pick<Clock, 'alarm'>, alarm: Alarm | null, handler: AlarmHandler): Alarm {
  if (alarm !== null && alarm.dueMs <= dueMs) return alarm;
  alarm?.cancel();
  return clock.alarm(dueMs, handler);
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
  /** Calls `onAlarm` on every tick while the ticker runs, as it does from now on. */
  everyTick(handler: AlarmHandler): Ticker;
  /** Calls `onAlarm` once when now() ≥ dueMs. */
  alarm(dueMs: number, handler: AlarmHandler): Alarm;
}

/** The wheel itself, driven by its owner: `turn(now)` calls all that is due. */
export class Wheel {
  readonly #buckets: Alarm[][] = Array.from({ length: BUCKETS }, () => []);
  readonly #tickers: Ticker[] = [];
  readonly #watchdog: Watchdog;
  readonly #onRun: () => void;
  /** Number of tickers that run. */
  #running = 0;
  #doneTick: number;

  /** @param onRun called when the first ticker begins to run: from then on each tick is to be turned */
  constructor(nowMs: number, watchdog: Watchdog, onRun: () => void = () => undefined) {
    this.#watchdog = watchdog;
    this.#onRun = onRun;
    this.#doneTick = Math.floor(nowMs / TICK_MS);
  }

  add(dueMs: number, handler: AlarmHandler): Alarm {
    const alarm = new Alarm(dueMs, handler);
    // Rounded up, so that no call comes too soon; never into a bucket that this turn has passed already.
    const tick = Math.max(Math.ceil(dueMs / TICK_MS), this.#doneTick + 1);
    this.#buckets[tick % BUCKETS]!.push(alarm);
    return alarm;
  }

  everyTick(handler: AlarmHandler): Ticker {
    const ticker = new Ticker(handler, (isRunning) => {
      this.#running += isRunning ? 1 : -1;
      if (isRunning && this.#running === 1) this.#onRun();
    });
    this.#tickers.push(ticker);
    return ticker;
  }

  /** Whether each tick is to be turned. */
  get isTicking(): boolean {
    return this.#running > 0;
  }

  /** When a turn is worth it while no ticker runs, milliseconds: at the first alarm, or when the wheel has gone round. */
  nextMs(): number {
    const last = this.#doneTick + BUCKETS;
    for (let t = this.#doneTick + 1; t < last; t++) {
      for (const { dueMs, handler } of this.#buckets[t % BUCKETS]!)
        if (handler !== null && dueMs <= t * TICK_MS) return t * TICK_MS;
    }
    return last * TICK_MS;
  }

  turn(nowMs: number): void {
    const tick = Math.floor(nowMs / TICK_MS);
    const first = Math.max(this.#doneTick + 1, tick - BUCKETS + 1);
    for (let t = first; t <= tick; t++) {
      this.#doneTick = t;
      this.#turnBucket(t % BUCKETS, nowMs);
    }
    for (const ticker of this.#tickers) if (ticker.isRunning) this.#call(ticker.handler, nowMs);
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
  /** How late each tick, or the end of each rest, came, microseconds (at least 1): the delay of the event loop, at no wake-up of its own. */
  readonly lateMicros: RecordableHistogram = createHistogram();
  readonly #wheel = new Wheel(performance.now(), this.watchdog, () => this.#wake());
  readonly #onTimer = () => this.#tick();
  #timer: NodeJS.Timeout | undefined;
  /** When it wakes; -∞ while it ticks, or is stopped. */
  #wakeMs = Number.NEGATIVE_INFINITY;
  #isTicking = false;
  #isStopped = false;
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
    this.#schedule();
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

  everyTick(handler: AlarmHandler): Ticker {
    return this.#wheel.everyTick(handler);
  }

  alarm(dueMs: number, handler: AlarmHandler): Alarm {
    const alarm = this.#wheel.add(dueMs, handler);
    if (dueMs < this.#wakeMs) this.#restUntil(Math.ceil(dueMs / TICK_MS) * TICK_MS);
    return alarm;
  }

  stop(): void {
    this.#isStopped = true;
    this.#wakeMs = Number.NEGATIVE_INFINITY;
    clearTimeout(this.#timer);
    this.#collector.disconnect();
  }

  #tick(): void {
    const nowMs = performance.now();
    const lateMs = nowMs - (this.#isTicking ? this.#lastMs + TICK_MS : this.#wakeMs);
    this.lateMicros.record(Math.max(1, Math.round(lateMs * 1000)));
    const ran = process.cpuUsage();
    const isOpen = this.watchdog.late(
      lateMs,
      (ran.user + ran.system - this.#lastRan.user - this.#lastRan.system) / 1000,
    );
    this.#lastRan = ran;
    this.#lastMs = nowMs;
    // What is set meanwhile counts when all has been called.
    this.#wakeMs = Number.NEGATIVE_INFINITY;
    try {
      this.#wheel.turn(nowMs);
    } finally {
      this.#schedule(isOpen ? nowMs + TICK_MS : Number.POSITIVE_INFINITY);
    }
  }

  /** A ticker runs that did not. */
  #wake(): void {
    if (this.#wakeMs !== Number.NEGATIVE_INFINITY) this.#schedule();
  }

  /** @param mostMs when it wakes at the latest */
  #schedule(mostMs = Number.POSITIVE_INFINITY): void {
    if (this.#isStopped) return;
    const { isTicking } = this.#wheel;
    if (!isTicking) this.#restUntil(Math.min(this.#wheel.nextMs(), mostMs));
    else if (!this.#isTicking) {
      clearTimeout(this.#timer);
      this.#wakeMs = Number.NEGATIVE_INFINITY;
      this.#lastMs = performance.now();
      this.#timer = setInterval(this.#onTimer, TICK_MS);
    }
    this.#isTicking = isTicking;
  }

  #restUntil(wakeMs: number): void {
    if (wakeMs === this.#wakeMs) return;
    clearTimeout(this.#timer);
    this.#wakeMs = wakeMs;
    if (wakeMs > performance.now()) this.watchdog.inTime();
    this.#timer = setTimeout(this.#onTimer, msUntil(wakeMs));
  }
}
