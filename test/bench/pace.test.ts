/** Open-loop load: nothing is left out when the load itself, or what it waits for, stands still. */

import t from 'tap';
import { pace, Schedule } from '../../bench/pace.js';

t.test('work is due at fixed moments, and late work is not left out', async (t) => {
  const schedule = new Schedule(100, 50);
  t.strictSame(schedule.take(0), { from: 0, to: 1 }, 'the first at once');
  t.strictSame(schedule.take(9.9), { from: 1, to: 1 });
  t.strictSame(schedule.take(10), { from: 1, to: 2 });
  t.strictSame(schedule.take(210), { from: 2, to: 22 }, 'all that came due while this process stood still');
  t.equal(schedule.dueMs(21), 210);
  t.notOk(schedule.isOver);
  t.strictSame(schedule.take(10_000), { from: 22, to: 50 }, 'never more than there is');
  t.ok(schedule.isOver);
  t.strictSame(schedule.take(20_000), { from: 50, to: 50 });
});

t.test('a stall is in the times of all that were due in it', async (t) => {
  const lateMs: number[] = [];
  const started = performance.now();
  await pace(1000, 200, (index, dueAt) => {
    if (index === 20) while (performance.now() < dueAt + 100);
    lateMs[index] = performance.now() - dueAt;
  });
  t.ok(performance.now() - started >= 199, 'not faster than the rate');
  t.equal(lateMs.length, 200);
  t.ok(lateMs[21]! >= 98, `the next one waited: ${lateMs[21]} ms`);
  t.ok(lateMs[70]! >= 49, `so did one 50 ms later: ${lateMs[70]} ms`);
});

t.test('it can be stopped', async (t) => {
  const stopped = new AbortController();
  let count = 0;
  await pace(1000, 1e9, () => ++count === 5 && stopped.abort(), stopped.signal);
  t.ok(count >= 5 && count < 1e6);
});
