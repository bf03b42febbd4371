/**
 * The time, and one coarse shared timer: a single tick of 40 ms drives all periodic work and all deadlines that need no precision, so that
 * listeners, sessions and watchers have no timers of their own. Alarms lie in a wheel of buckets, one bucket per tick:
 *
 *   bucket = (due / 40) mod 512   …│ a b │   │ c │ …   an alarm more than one turn ahead is checked once per turn
 *
 * It ticks only while a ticker runs (there are listeners, watchers …). Else it rests until the next alarm is due, since wake-ups cost CPU time:
 *
 *   a ticker runs   │ │ │ │ │ │ │ │ │ │        rests   │      │  │              │
 *                   40 ms each                         alarms, at their buckets' times
 *
 * Tests pass a clock of their own (test/kit/clock.ts); the system clock is made in app/app.ts and stopped by it.
 */

import { createHistogram, PerformanceObserver, performance, type RecordableHistogram } from 'node:perf_hooks';
import { Watchdog } from './watchdog.js';
import { msUntil } from './whole-time.js';

/** A wake-up costs about 80 µs of CPU, even without work: a tick of 20 ms costs 0.4 % of a core, one of 40 ms half of that. */
export const TICK_MS = 40;
const BUCKETS = 512;
/** A wall clock that is off by this much is wrong: NTP keeps it within a tenth of that. */
export const WRONG_CLOCK_MS = 500;

/** `onAlarm` runs at most TICK_MS late; it may set a new alarm. */
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
  /** Prevents the call. Idempotent. */
  cancel(): void {
    this.handler = null;
  }
}

/** Calls a handler on every tick while it runs. A handler without work should let it rest. */
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

  /** Starts it: the next call is within TICK_MS. Idempotent. */
  run(): void {
    if (!this.#isRunning) this.#switch(true);
  }

  /** Stops the calls until `run`. Idempotent. */
  rest(): void {
    if (this.#isRunning) this.#switch(false);
  }

  #switch(isRunning: boolean): void {
    this.#isRunning = isRunning;
    this.#onSwitch(isRunning);
  }
}

/** Returns `alarm` if it is due by `dueMs`; else cancels it and returns a new one at `dueMs`. @param alarm null: none */
export function alarmBy(dueMs: number, clock: Pick<Clock, 'alarm'>, alarm: Alarm | null, handler: AlarmHandler): Alarm {
  if (alarm !== null && alarm.dueMs <= dueMs) return alarm;
  alarm?.cancel();
  return clock.alarm(dueMs, handler);
}

export interface Clock {
  /** Measures work that may block the event loop. */
  readonly watchdog: Watchdog;
  /** Monotonic milliseconds, for durations. */
  now(): number;
  /** Unix milliseconds, for times that people read: by this machine's wall clock, or by the time that it follows. */
  wallMs(): number;
  /** From now on `wallMs()` is `now() + aheadMs` and ignores this machine's wall clock: the machines of a cluster share one time (src/cluster). */
  follow(aheadMs: number): void;
  /** How far this machine's wall clock is ahead of the followed time, milliseconds; 0 if it follows none. */
  readonly skewMs: number;
  /** Returns a running ticker, which calls `onAlarm` on every tick. */
  everyTick(handler: AlarmHandler): Ticker;
  /** Calls `onAlarm` once when now() ≥ dueMs. */
  alarm(dueMs: number, handler: AlarmHandler): Alarm;
}

/** The wheel, driven by its owner: `turn(now)` calls all handlers that are due. */
export class Wheel {
  readonly #buckets: Alarm[][] = Array.from({ length: BUCKETS }, () => []);
  readonly #tickers: Ticker[] = [];
  readonly #watchdog: Watchdog;
  readonly #onRun: () => void;
  /** Number of running tickers. */
  #running = 0;
  #doneTick: number;

  /** @param onRun called when the first ticker begins to run: from then on `turn` must be called on each tick */
  constructor(nowMs: number, watchdog: Watchdog, onRun: () => void = () => undefined) {
    this.#watchdog = watchdog;
    this.#onRun = onRun;
    this.#doneTick = Math.floor(nowMs / TICK_MS);
  }

  add(dueMs: number, handler: AlarmHandler): Alarm {
    const alarm = new Alarm(dueMs, handler);
    // Rounded up, so that no call is early; never into a bucket that the current turn has passed.
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

  /** Whether `turn` must be called on each tick. */
  get isTicking(): boolean {
    return this.#running > 0;
  }

  /** When `turn` must be called next if no ticker runs, monotonic ms: at the first alarm, or after a full turn of the wheel. */
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
    // An object literal has no class name worth logging.
    if (this.#watchdog.end('timer', startMs) && !isPlain(handler)) this.#watchdog.blame(handler.constructor.name);
  }
}

function isPlain(handler: AlarmHandler): boolean {
  return handler.constructor === Object;
}

export class SystemClock implements Clock {
  readonly watchdog = new Watchdog(this);
  /** How late each tick and each end of a rest was, microseconds (at least 1): the event loop's delay, measured without extra wake-ups. */
  readonly lateMicros: RecordableHistogram = createHistogram();
  readonly #wheel = new Wheel(performance.now(), this.watchdog, () => this.#wake());
  readonly #onTimer = () => this.#tick();
  #timer: NodeJS.Timeout | undefined;
  /** When its rest ends; -∞ while it ticks, or is stopped. */
  #wakeMs = Number.NEGATIVE_INFINITY;
  #isTicking = false;
  #isStopped = false;
  readonly #collector = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) this.watchdog.collected(duration);
  });
  #lastMs = performance.now();
  #lastRan = process.cpuUsage();
  /** See `follow`; null: it uses the machine's wall clock. */
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
    // Alarms set by handlers must not start a timer: `#schedule` below considers them.
    this.#wakeMs = Number.NEGATIVE_INFINITY;
    try {
      this.#wheel.turn(nowMs);
    } finally {
      this.#schedule(isOpen ? nowMs + TICK_MS : Number.POSITIVE_INFINITY);
    }
  }

  /** The first ticker runs: ends a rest. */
  #wake(): void {
    if (this.#wakeMs !== Number.NEGATIVE_INFINITY) this.#schedule();
  }

  /** @param maxMs the latest end of a rest */
  #schedule(maxMs = Number.POSITIVE_INFINITY): void {
    if (this.#isStopped) return;
    const { isTicking } = this.#wheel;
    if (!isTicking) this.#restUntil(Math.min(this.#wheel.nextMs(), maxMs));
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
