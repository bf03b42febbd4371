/**
 * A cluster by seed: three machines (network namespaces), whatever is killed, stopped, emptied or cut off meanwhile (test/kit/cluster-faults.ts).
 * Five minutes, of each kind some; MINUTES=60 is an hour of each, MINUTES=1,0.7 says them by kind; SEED plays one again.
 */

import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { ClusterFaults } from '../kit/cluster-faults.js';
import { FAKETIME_LIBRARY } from '../kit/faked-clock.js';
import { noHosts } from '../kit/hosts.js';
import { Random } from '../kit/random.js';
import { noRedis } from '../kit/redis.js';

const [single = 3, pair = single] = process.env['MINUTES']?.split(',').map(Number) ?? [3, 2];
const hasClock = FAKETIME_LIBRARY !== undefined;
const KINDS = [
  { isPair: false, minutes: single },
  { isPair: true, minutes: pair },
];
/** In an hour, and to start and end. */
t.setTimeout(KINDS.reduce((sum, { minutes }) => sum + minutes, 0) * 60_000 + 480_000);

for (const { isPair, minutes } of KINDS) {
  const name = `${minutes} minutes of faults, ${isPair ? 'with a Sentinel' : 'with a clock that is set'}`;
  t.test(name, { skip: noRedis || noHosts() }, async (t) => {
    const random = new Random();
    const crowd = isPair ? { listeners: 60, watchers: 12 } : { listeners: 300, watchers: 12, hasClock };
    const faults = await ClusterFaults.begin(t, random, { seconds: minutes * 60, isPair, ...crowd });
    try {
      await faults.run();
    } catch (error) {
      const path = join(tmpdir(), `cluster-faults-${random.seed}.log`);
      writeFileSync(path, faults.said);
      throw new Error(
        `SEED=${random.seed} ${(error as Error).message}\n${faults.done.join('\n')}\nwhat they logged: ${path}`,
        { cause: error },
      );
    }
    t.comment(JSON.stringify(faults.counts));
    t.comment(faults.done.join(' · '));
    t.ok(faults.counts.pushes > minutes * 10);
  });
}
