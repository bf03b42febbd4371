/** The budget of samples: at most the 250th part of a core on average, however often they are wanted. */

import t from 'tap';
import { SampleBudget } from '../../../src/listener/cursor/sample-budget.js';

/** Samples for an hour as often as is wanted. @returns the pauses, and the part of a core that all but the first five minutes took */
function run(connections: number, tookMs: number, wantedMs: number): { pauses: number[]; share: number } {
  const budget = new SampleBudget(5000, 0);
  const costMs = Math.max(connections * 0.003, tookMs);
  const pauses: number[] = [];
  let spentMs = 0;
  for (let nowMs = 0; nowMs < 3_600_000; ) {
    budget.spend(nowMs, connections * 150, tookMs);
    if (nowMs >= 300_000) spentMs += costMs;
    const pauseMs = budget.pauseMs(wantedMs);
    pauses.push(Math.round(pauseMs));
    nowMs += pauseMs;
  }
  return { pauses, share: spentMs / 3_300_000 };
}

t.test('samples come less often where there are many connections', async (t) => {
  const after = (connections: number) => run(connections, 1, 5000).pauses.at(-1);
  t.same([0, 1000, 6666].map(after), [5000, 5000, 5000]);
  t.same([16_000, 40_000, 80_000, 1_000_000].map(after), [12_000, 30_000, 60_000, 60_000]);
});

t.test('they may come close together for a while, and never cost more than their share', async (t) => {
  for (const tookMs of [0.2, 0.8, 5.5, 15]) {
    const { pauses, share } = run(100, tookMs, 200);
    t.ok(share <= (1 / 250) * 1.02, `${tookMs} ms: ${(share * 100).toFixed(2)} % of a core`);
    const close = pauses.findIndex((pauseMs) => pauseMs > 200);
    t.ok(close < 0 || close >= 75, `${tookMs} ms: ${close} of them at once`);
    t.equal(pauses.at(-1), Math.max(200, Math.round(tookMs * 250)));
  }
});

t.test('what is not used is saved, five minutes’ share at most', async (t) => {
  const budget = new SampleBudget(5000, 0);
  let nowMs = 0;
  const spendAll = () => {
    let count = 0;
    for (; budget.pauseMs(200) === 200 && count < 1000; count++) budget.spend((nowMs += 200), 0, 10);
    return count;
  };
  const first = spendAll();
  t.ok(first >= 100 && first <= 150, `${first} samples of 10 ms`);
  nowMs += 150_000;
  budget.spend(nowMs, 0, 10);
  const half = spendAll();
  t.ok(half >= 50 && half < first, `${half} after half the time`);
  nowMs += 3_000_000;
  budget.spend(nowMs, 0, 10);
  t.ok(spendAll() <= first);
});

t.test('a busy machine, on which each sample takes long, samples as often as it did before', async (t) => {
  t.equal(run(100, 500, 5000).pauses.at(-1), 5000);
  t.equal(run(100, 500, 200).pauses.at(-1), 5000);
  const budget = new SampleBudget(5000, 0);
  for (const tookMs of [500, 2, 500, 500]) budget.spend(0, 0, tookMs);
  for (let nowMs = 0; nowMs < 60_000; nowMs += 500) budget.spend(nowMs, 0, nowMs % 2500 === 0 ? 2 : 500);
  t.ok(budget.pauseMs(200) <= 500, 'one that was not disturbed says what it costs');
});
