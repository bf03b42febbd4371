/**
 * A cluster by seed: three machines (network namespaces), whatever is killed, stopped, emptied or cut off meanwhile (test/kit/cluster-faults.ts).
 * MINUTES=60 is an hour of it; SEED plays one again.
 */

import t from 'tap';
import { ClusterFaults } from '../kit/cluster-faults.js';
import { noHosts } from '../kit/hosts.js';
import { Random } from '../kit/random.js';
import { noRedis } from '../kit/redis.js';

const minutes = Number(process.env['MINUTES'] ?? 2);
/** In an hour, and to start and end. */
t.setTimeout(minutes * 60_000 + 240_000);

t.test(`${minutes} minutes of faults`, { skip: noRedis || noHosts() }, async (t) => {
  const random = new Random();
  const faults = await ClusterFaults.begin(t, random, { seconds: minutes * 60, listeners: 60, watchers: 12 }, {});
  try {
    await faults.run();
  } catch (error) {
    throw new Error(`SEED=${random.seed} ${(error as Error).message}\n${faults.done.join('\n')}`, { cause: error });
  }
  t.comment(JSON.stringify(faults.counts));
  t.comment(faults.done.join(' · '));
  t.ok(faults.counts.pushes > minutes * 10);
});
