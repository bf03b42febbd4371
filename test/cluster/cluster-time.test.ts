/** The time of a cluster: it stays within the bounds of each answer, whatever the wall clock here is set to. */

import t from 'tap';
import { ClusterTime } from '../../src/cluster/cluster-time.js';
import { FakeClock } from '../kit/clock.js';

/** A node whose clock is this far ahead, and a Redis that is right. */
function setUp(skewMs: number, keptSkewMs = 0) {
  const clock = new FakeClock(1_000_000, 1e12 + skewMs);
  const moved: number[] = [];
  const time = new ClusterTime(clock, keptSkewMs, (aheadMs) => moved.push(aheadMs));
  let redisAheadMs = 1e12 - 1_000_000;
  return {
    clock,
    time,
    moved,
    trueMs: () => clock.now() + redisAheadMs,
    stepRedis: (ms: number) => {
      redisAheadMs += ms;
    },
    /** @param thereMs, backMs how long the way takes */
    ask: (thereMs: number, backMs: number) => {
      const askedMs = clock.now();
      clock.spend(thereMs);
      const timeMs = clock.now() + redisAheadMs;
      clock.spend(backMs);
      time.learn(timeMs, askedMs, clock.now());
    },
  };
}

t.test('until the first answer it is the clock here, then that of the cluster, however far off it is', async (t) => {
  for (const skewMs of [0, 1000, -1000, 600_000, -600_000, 86_400_000, -86_400_000]) {
    const { clock, time, ask, trueMs } = setUp(skewMs);
    t.equal(time.ms(), 1e12 + skewMs);
    t.equal(time.isKnown, false);
    ask(2, 2);
    t.equal(time.isKnown, true);
    t.ok(Math.abs(time.ms() - trueMs()) <= 2, `${skewMs}: ${time.ms() - trueMs()} ms off`);
    t.ok(Math.abs(time.skewMs - skewMs) <= 2, `${skewMs}: it is known to be ${time.skewMs}`);
    clock.stepWall(40 * 86_400_000);
    clock.advance(1000);
    t.ok(Math.abs(time.ms() - trueMs()) <= 2, 'a clock that is set is of no account');
    t.ok(Math.abs(time.skewMs - skewMs - 40 * 86_400_000) <= 2, 'but it is known');
  }
});

t.test('it moves no further than an answer asks for', async (t) => {
  const { time, ask, trueMs, moved, stepRedis } = setUp(0);
  ask(300, 0);
  t.ok(Math.abs(time.ms() - trueMs() - 150) <= 1, 'a slow way: between asked and came');
  ask(1, 1);
  t.ok(Math.abs(time.ms() - trueMs()) <= 2);
  t.equal(moved.length, 2);
  for (let i = 0; i < 20; i++) ask(i * 20, 400 - i * 20);
  t.equal(moved.length, 2, 'slow answers move nothing that was known better');
  for (const stepMs of [1000, -3_600_000, 86_400_000]) {
    stepRedis(stepMs);
    ask(1, 1);
    t.ok(Math.abs(time.ms() - trueMs()) <= 2, `a step of ${stepMs} is followed`);
  }
});

t.test('a node that starts while Redis is away goes by how far its clock was off before', async (t) => {
  const { clock, time, trueMs, ask } = setUp(600_000, 600_000);
  t.equal(time.ms(), trueMs());
  t.equal(time.isAssumed, true);
  t.equal(time.isKnown, false);
  clock.advance(10_000);
  ask(1, 1);
  t.ok(Math.abs(time.ms() - trueMs()) <= 2);
});
