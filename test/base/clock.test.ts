/** The clock: alarms ring in time, and without work nothing wakes the process. */

import t from 'tap';
import { type Alarm, SystemClock, TICK_MS, Wheel } from '../../src/base/clock.js';
import { FakeClock } from '../kit/clock.js';
import { block, pause, quietFor } from '../kit/pause.js';
import { Random } from '../kit/random.js';
import { until } from '../kit/until.js';

/** The longest alarms are beyond one turn of the wheel, which is 20 s. */
const FAR_MS = 50_000;
const ALARMS = 300;

function systemClock(t: { teardown(end: () => void): void }): SystemClock {
  const clock = new SystemClock();
  t.teardown(() => clock.stop());
  return clock;
}

t.test(
  'a wheel that is turned only when it says so rings every alarm within a tick, and is not turned for nothing',
  async (t) => {
    const random = new Random();
    t.comment(`SEED=${random.seed}`);
    let nowMs = 1_000_000 + random.next() * TICK_MS;
    const wheel = new Wheel(nowMs, new FakeClock().watchdog);
    let rung = 0;
    let cancelled = 0;
    let worstMs = 0;
    const open: Alarm[] = [];
    const add = () => {
      const dueMs = nowMs + (random.chance(0.1) ? 0 : random.next() * (random.chance(0.2) ? FAR_MS : 500));
      const onAlarm = (atMs: number) => {
        t.ok(atMs >= dueMs, 'never too soon');
        worstMs = Math.max(worstMs, atMs - dueMs);
        rung++;
        // One that is set by another one.
        if (rung + cancelled + open.length < ALARMS && random.chance(0.5)) add();
      };
      open.push(wheel.add(dueMs, { onAlarm }));
    };
    let turns = 0;
    for (let left = ALARMS; left > 0; ) {
      add();
      left--;
      if (random.chance(0.1) && open.at(-1)!.handler !== null) {
        open.at(-1)!.cancel();
        cancelled++;
      }
      if (!random.chance(0.3)) continue;
      // Some are set while it rests, before it is turned.
      const nextMs = wheel.nextMs();
      if (random.chance(0.3)) nowMs += random.next() * (nextMs - nowMs);
      else {
        nowMs = Math.max(nowMs, nextMs);
        wheel.turn(nowMs);
        turns++;
      }
    }
    while (rung + cancelled < open.length) {
      nowMs = wheel.nextMs();
      wheel.turn(nowMs);
      turns++;
    }
    t.ok(worstMs <= TICK_MS, `${worstMs} ms late at most`);
    t.ok(turns <= open.length + 10, `${turns} turns for ${open.length} alarms`);
  },
);

t.test('an alarm that is cancelled, or is due a turn of the wheel later, is no reason to wake', async (t) => {
  const wheel = new Wheel(0, new FakeClock().watchdog);
  const turnMs = wheel.nextMs();
  t.equal(turnMs, 512 * TICK_MS, 'it goes round at least');
  wheel.add(1000, { onAlarm: () => undefined }).cancel();
  wheel.add(turnMs + 1000, { onAlarm: () => undefined });
  t.equal(wheel.nextMs(), turnMs);
  wheel.add(1001, { onAlarm: () => undefined });
  t.equal(wheel.nextMs(), 1040, 'the first tick at which it is due');
});

t.test('a ticker is called on each tick while it runs', async (t) => {
  const clock = new FakeClock();
  let calls = 0;
  const ticker = clock.everyTick({ onAlarm: () => void calls++ });
  clock.advance(10 * TICK_MS);
  t.equal(calls, 10);
  ticker.rest();
  ticker.rest();
  clock.advance(10 * TICK_MS);
  t.equal(calls, 10);
  ticker.run();
  ticker.run();
  clock.advance(TICK_MS);
  t.equal(calls, 11);
  const other = clock.everyTick({ onAlarm: () => other.rest() });
  clock.advance(2 * TICK_MS);
  t.equal(calls, 13, 'one that rests leaves the others alone');
});

t.test('a clock without work does not wake', async (t) => {
  const clock = systemClock(t);
  const ticker = clock.everyTick({ onAlarm: () => ticker.rest() });
  clock.alarm(clock.now() + 60_000, { onAlarm: () => undefined });
  await until(() => !ticker.isRunning, 2000);
  clock.lateMicros.reset();
  await quietFor(600);
  t.equal(clock.lateMicros.count, 0);
  ticker.run();
  await until(() => !ticker.isRunning, 2000);
  t.equal(clock.lateMicros.count, 1, 'one tick, with the work');
});

t.test('a clock that rests wakes for each alarm, never too soon, also for one that is set meanwhile', async (t) => {
  const clock = systemClock(t);
  const late: number[] = [];
  const set = (ms: number) => {
    const dueMs = clock.now() + ms;
    clock.alarm(dueMs, { onAlarm: (nowMs) => void late.push(nowMs - dueMs) });
  };
  for (const ms of [900, 300, 310, 0, 47]) set(ms);
  await pause(20);
  set(100);
  set(60);
  await until(() => late.length === 7, 5000);
  t.ok(Math.min(...late) >= 0, `${late}`);
  t.ok(Math.min(...late) <= TICK_MS, 'on a machine that is not busy all of them');
  t.ok(clock.lateMicros.count <= 8, `${clock.lateMicros.count} wake-ups`);
});

t.test('a clock that rests wakes at once for a ticker', async (t) => {
  const clock = systemClock(t);
  await pause(50);
  let calls = 0;
  const beganMs = clock.now();
  const ticker = clock.everyTick({ onAlarm: () => void calls++ });
  await until(() => calls >= 10, 5000);
  t.ok(clock.now() - beganMs >= 9 * TICK_MS, 'and ticks');
  ticker.rest();
  await pause(TICK_MS);
  const rested = calls;
  await quietFor(200);
  t.equal(calls, rested);
});

t.test('an alarm whose handler fails does not stop the clock', async (t) => {
  const clock = systemClock(t);
  const failed = new Promise((resolve) => process.once('uncaughtException', resolve));
  const fails = () => {
    throw new Error('as it may');
  };
  clock.alarm(clock.now(), { onAlarm: fails });
  t.match(await failed, { message: 'as it may' });
  let calls = 0;
  clock.alarm(clock.now(), { onAlarm: () => void calls++ });
  await until(() => calls === 1, 2000);
});

t.test('a clock that is held while it rests is late for what was due, and soon says why', async (t) => {
  const clock = systemClock(t);
  clock.alarm(clock.now() + TICK_MS, { onAlarm: () => undefined });
  block(200);
  const { long } = clock.watchdog;
  await until(() => long.unknown + long.stopped === 1, 2000);
  t.ok(clock.lateMicros.max >= 100_000);
});

t.test('a clock that was stopped wakes no more', async () => {
  const clock = new SystemClock();
  const ticker = clock.everyTick({ onAlarm: () => t.fail('stopped') });
  clock.stop();
  clock.alarm(clock.now(), { onAlarm: () => t.fail('stopped') });
  ticker.rest();
  ticker.run();
  await quietFor(150);
});
