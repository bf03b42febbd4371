/**
 * The fuzzers' long run: 200,000 inputs by a fresh seed over all targets (FUZZ=1000000 for more), after them connections at the front and
 * the encoder services, and the heap looked at. A finding is reported with its seed and bytes; kit/fuzz.ts says how to keep it.
 */

import t from 'tap';
import { fuzzTarget } from '../kit/fuzz.js';
import { fuzzFronts } from '../kit/fuzz-front.js';
import { fuzzTargets } from '../kit/fuzz-targets.js';
import { heldBytes } from '../kit/heap.js';
import { Random } from '../kit/random.js';

const INPUTS = Number(process.env['FUZZ'] ?? 200_000);
const CONNECTIONS = INPUTS / 4;

t.setTimeout(Math.max(1_200_000, INPUTS * 6));

const targets = fuzzTargets(t);
for (const target of targets) {
  // Those behind connections are dear, pure functions are not.
  const share = target.atOnce === undefined ? 3 : 1;
  const shares = targets.reduce((sum, { atOnce }) => sum + (atOnce === undefined ? 3 : 1), 0);
  const count = Math.ceil((INPUTS * share) / shares);
  t.test(`${target.name}: ${count} inputs`, async (t) => {
    const random = new Random();
    await fuzzTarget(target, random, count);
    t.pass(`seed ${random.seed}`);
  });
}

t.test(`front and encoders: ${CONNECTIONS} connections`, async (t) => {
  const faults: unknown[] = [];
  process.on('uncaughtExceptionMonitor', (error) => faults.push(error));
  await fuzzFronts(new Random(), 10_000);
  const beforeBytes = heldBytes();
  const random = new Random();
  const { fed } = await fuzzFronts(random, CONNECTIONS);
  t.ok(fed > 100, `seed ${random.seed}: ${fed} were let in`);
  const grownMiB = (heldBytes() - beforeBytes) / 2 ** 20;
  t.ok(grownMiB < 10, `the heap has grown by ${Math.round(grownMiB)} MiB`);
  t.same(faults, []);
});
