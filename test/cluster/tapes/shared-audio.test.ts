/** Two machines that feed one channel while they are apart: whoever listens gets whole frames, before and after, and hears the better source in the end. */

import t, { type Test } from 'tap';
import { Hosts, noHosts } from '../../kit/hosts.js';
import { allAreWell, allHear, ClusterNode, FILE_FRAMES, FILE_SOURCE } from '../../kit/nodes.js';
import { quietFor } from '../../kit/pause.js';
import { noRedis, RedisServer } from '../../kit/redis.js';
import { StampedEncoder } from '../../kit/stamped.js';
import { until } from '../../kit/until.js';

const ENCODER = 1;
/** Until a machine that hears of no other feeds the channel itself, and its listeners were written to. */
const APART_MS = 10_000;

async function start(t: Test) {
  const hosts = new Hosts(t);
  const redis = await RedisServer.start(t, [], hosts.add());
  const [a, b] = await Promise.all([
    ClusterNode.start(t, 'a', redis, { host: hosts.add() }),
    ClusterNode.start(t, 'b', redis, { host: hosts.add(), sources: ['encoder', FILE_SOURCE] }),
  ]);
  return { redis, a, b };
}

t.test(
  'the machine of the encoder is cut off from all others, and comes back',
  { skip: noRedis || noHosts() },
  async (t) => {
    const { redis, a, b } = await start(t);
    const listen = (node: ClusterNode) =>
      [true, false].map((icy) => node.listen(icy, new Map([[FILE_SOURCE, FILE_FRAMES]])));
    const [here, there] = [listen(a), listen(b)];
    await allHear([...here, ...there], FILE_SOURCE, 15_000);
    // It has taken the other one's tape until now, and goes on with it.
    new StampedEncoder(t, a.port, '/live', 'demo-source', 'mp3', ENCODER);
    await allHear([...here, ...there], ENCODER);

    const others = [redis.host!, b.host!];
    for (const other of others) {
      a.host!.cut(other);
      other.cut(a.host!);
    }
    await allHear(there, FILE_SOURCE, APART_MS);
    await quietFor(3000);
    allAreWell(t, [...here, ...there], 'both play on while they are apart');
    t.ok(here.every(({ reader }) => reader.runs.at(-1)!.source === ENCODER));
    const own = Math.max(...here.map(({ reader }) => reader.runs.length));
    for (const other of others) {
      a.host!.mend(other);
      other.mend(a.host!);
    }

    await allHear(there, ENCODER, 20_000);
    // What they have is none of the other tape: they go on with that one, behind a whole frame.
    await until(() => here.every(({ reader }) => reader.runs.length > own), 20_000);
    await allHear(here, ENCODER, 20_000);
    allAreWell(t, [...here, ...there], 'nobody is ended, and every frame is whole');
    await allHear(listen(a), ENCODER);
  },
);
