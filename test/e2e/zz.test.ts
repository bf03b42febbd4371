/** Machines with one Redis: an encoder anywhere, listeners everywhere, the same bytes at the same places; whoever is lost, the others play on. */

import t, { type Test } from 'tap';
import { Feeder } from '../kit/feeder.js';
import { allAreWell, allHear, ClusterNode, FILE_SOURCE } from '../kit/nodes.js';
import { quietFor } from '../kit/pause.js';
import { Player, until } from '../kit/player.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { KNOWN_EVERYWHERE_MS } from '../kit/server.js';
import { StampedEncoder } from '../kit/stamped.js';
import { ask, Watching } from '../kit/wire.js';

t.setTimeout(280_000);

/** Resolves when a listener would be let in at each of them. */
async function allHaveAudio(t: Test, nodes: readonly ClusterNode[]): Promise<void> {
  for (const { port, name } of nodes) {
    const has = async () => (await ask(t, port, 'GET /readyz?channels=live HTTP/1.1')).status === 200;
    await until(has, 5000, () => `${name} has no audio`);
  }
}

const encode = (t: Test, node: ClusterNode, source: number) =>
  new StampedEncoder(t, node.port, '/live', 'demo-source', 'mp3', source);

t.test(
  'an owner stands still for longer than its lease lasts: another one plays on, and nobody is ended',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const [a, b] = await Promise.all([
      ClusterNode.start(t, 'a', redis),
      ClusterNode.start(t, 'b', redis, { sources: ['encoder', FILE_SOURCE] }),
    ]);
    const encoder = encode(t, a, 1);
    const [here, there] = [
      [a, a].map((node, i) => node.listen(i === 0)),
      [b, b].map((node, i) => node.listen(i === 0)),
    ];
    await allHear([...here, ...there], 1, 15_000);
    const [hub] = a.pidsOf('hub');
    process.kill(hub!, 'SIGSTOP');
    try {
      await allHear(there, FILE_SOURCE, 20_000);
      await quietFor(2000);
    } finally {
      process.kill(hub!, 'SIGCONT');
    }
    const isBack = () =>
      [...here, ...there].every(({ reader }) => reader.runs.at(-1)?.source === 1 && reader.runs.length > 2);
    await until(
      isBack,
      20_000,
      () => `the encoder is not heard again: ${[...here, ...there].map(({ reader }) => JSON.stringify(reader.runs))}`,
    );
    allAreWell(t, [...here, ...there], 'every frame is whole, on the same connections');
    t.notOk(encoder.closed);
  },
);
