/** The machine of the encoder stands still, again and again, for less and for more than after what another one feeds the channel: nobody is ended. */

import t from 'tap';
import { allAreWell, allHear, ClusterNode, FILE_SOURCE } from '../kit/nodes.js';
import { pause } from '../kit/pause.js';
import { Random } from '../kit/random.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { StampedEncoder } from '../kit/stamped.js';

/** More than forks that a tape's name holds. */
const STOPS = 10;
const LISTENERS = 8;
t.setTimeout(300_000);

t.test(`${STOPS} stops`, { skip: noRedis }, async (t) => {
  const random = new Random();
  const redis = await RedisServer.start(t);
  const sources = ['encoder', FILE_SOURCE] as const;
  const [a, b, c] = await Promise.all([
    ClusterNode.start(t, 'a', redis, { sources }),
    ClusterNode.start(t, 'b', redis, { sources }),
    ClusterNode.start(t, 'c', redis, { mayFeed: false }),
  ]);
  new StampedEncoder(t, b.port, '/live', 'demo-source', 'mp3', 1);
  const listeners = [a, b, c].flatMap((node) => Array.from({ length: LISTENERS }, (_, i) => node.listen(i % 2 === 0)));
  await allHear(listeners, 1, 15_000);
  for (let i = 0; i < STOPS; i++) {
    const ms = random.int(400, 5000);
    b.signal('SIGSTOP');
    await pause(ms);
    b.signal('SIGCONT');
    await pause(random.int(3000, 4500));
    allAreWell(t, listeners, `seed ${random.seed}: stop ${i}, ${ms} ms`);
  }
  await allHear(listeners, 1);
});
