/** The minutes to which figures are assigned while the wall clock jumps. */

import t from 'tap';
import { FAR_AHEAD_MS } from '../../src/base/steady-time.js';
import { BELIEVE_AFTER_MS, MinuteTime } from '../../src/statistics/minute-time.js';
import { FakeClock } from '../kit/clock.js';

const DAY_MS = 86_400_000;

t.test('a clock that leaps is believed when it has stood so', async (t) => {
  for (const leapMs of [FAR_AHEAD_MS + 1, -FAR_AHEAD_MS - 1, 40 * DAY_MS, -40 * DAY_MS]) {
    const clock = new FakeClock();
    const time = new MinuteTime(clock);
    t.equal(time.ms(), clock.wallMs());
    clock.stepWall(leapMs);
    for (let i = 0; i < 3; i++) {
      t.equal(time.ms(), clock.wallMs() - leapMs, 'not at once');
      clock.spend(60_000);
    }
    clock.stepWall(-leapMs);
    t.equal(time.ms(), clock.wallMs(), 'it is right again');
    clock.stepWall(leapMs);
    t.equal(time.ms(), clock.wallMs() - leapMs);
    clock.spend(BELIEVE_AFTER_MS - 1);
    t.equal(time.ms(), clock.wallMs() - leapMs, 'a little less than long enough');
    clock.spend(1);
    t.equal(time.ms(), clock.wallMs(), 'it may be right');
    clock.spend(60_000);
    t.equal(time.ms(), clock.wallMs());
  }
});

t.test('one that is set by less, or for the first time, is believed at once', async (t) => {
  const clock = new FakeClock();
  const time = new MinuteTime(clock);
  for (const stepMs of [FAR_AHEAD_MS, -FAR_AHEAD_MS, 1000]) {
    t.equal(time.ms(), clock.wallMs());
    clock.stepWall(stepMs);
  }
  const unset = new FakeClock(0, 0);
  const later = new MinuteTime(unset);
  t.equal(later.ms(), 0);
  unset.stepWall(Date.UTC(2026, 10, 20));
  t.equal(later.ms(), unset.wallMs());
});
