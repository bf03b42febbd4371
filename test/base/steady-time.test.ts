/** The time by which things are removed, while the wall clock jumps. */

import t from 'tap';
import { FAR_AHEAD_MS, FIRST_PLAUSIBLE_MS, SteadyTime } from '../../src/base/steady-time.js';
import { FakeClock } from '../kit/clock.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

t.test('it is the wall clock while that goes as it should', async (t) => {
  const clock = new FakeClock();
  const time = new SteadyTime(clock);
  for (let i = 0; i < 100; i++) {
    clock.spend(60_000);
    // As NTP does.
    clock.stepWall(i % 2 === 0 ? 400 : -400);
    t.ok(clock.wallMs() - time.ms() <= 400 && time.ms() <= clock.wallMs(), `${i}`);
  }
  t.equal(time.isBehind, false);
});

t.test('a clock that leaps ahead makes nothing older than it is, twice at most', async (t) => {
  const clock = new FakeClock();
  const time = new SteadyTime(clock);
  const beganMs = clock.wallMs();
  clock.stepWall(40 * DAY_MS);
  t.equal(time.ms(), beganMs);
  clock.spend(HOUR_MS);
  t.equal(time.ms(), beganMs + 2 * HOUR_MS);
  clock.stepWall(-40 * DAY_MS);
  t.equal(time.ms(), clock.wallMs(), 'it is right again');
  t.equal(time.isBehind, false);
});

t.test('a clock that leaps back, and ahead again', async (t) => {
  const clock = new FakeClock();
  const time = new SteadyTime(clock);
  clock.stepWall(-FAR_AHEAD_MS);
  t.equal(time.isBehind, false);
  clock.stepWall(-1);
  t.equal(time.isBehind, true);
  t.equal(time.ms(), clock.wallMs());
  clock.spend(HOUR_MS);
  clock.stepWall(FAR_AHEAD_MS + 1);
  t.equal(time.ms(), clock.wallMs(), 'at once: it had been there');
});

t.test('a clock that was not set yet is believed once it is', async (t) => {
  const clock = new FakeClock(0, 1000);
  const time = new SteadyTime(clock);
  clock.stepWall(FIRST_PLAUSIBLE_MS);
  t.equal(time.ms(), clock.wallMs());
  clock.stepWall(DAY_MS);
  t.equal(time.ms(), clock.wallMs() - DAY_MS);
});

t.test('from a moment that is known: the time since then is caught up with', async (t) => {
  const clock = new FakeClock();
  const time = new SteadyTime(clock, clock.wallMs() - DAY_MS);
  t.equal(time.ms(), clock.wallMs() - DAY_MS);
  clock.spend(DAY_MS / 2);
  t.equal(time.ms(), clock.wallMs() - DAY_MS / 2);
  clock.spend(DAY_MS / 2);
  t.equal(time.ms(), clock.wallMs());
  clock.spend(DAY_MS);
  t.equal(time.ms(), clock.wallMs());
});
