/** The fuzzer's long run: 20,000 to warm up, then four of 100,000, each with a seed of its own, and the heap looked at. */

import t from 'tap';
import { fuzz } from '../kit/fuzz.js';
import { Random } from '../kit/random.js';

t.test('420,000 connections', { timeout: 1_500_000 }, async (t) => {
  const faults: unknown[] = [];
  process.on('uncaughtExceptionMonitor', (error) => faults.push(error));
  await fuzz(new Random(), 20_000);
  const beforeBytes = process.memoryUsage().heapUsed;
  for (let run = 0; run < 4; run++) {
    const random = new Random();
    const { fed } = await fuzz(random, 100_000);
    t.ok(fed > 1000, `seed ${random.seed}: ${fed} were let in`);
  }
  const grownMiB = (process.memoryUsage().heapUsed - beforeBytes) / 2 ** 20;
  t.ok(grownMiB < 150, `the heap has grown by ${Math.round(grownMiB)} MiB`);
  t.same(faults, []);
});
