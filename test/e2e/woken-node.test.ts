/** A machine is suspended while others go on, and gets a push meanwhile: when it runs again it first reads what the others did, then decides that push. */

import t from 'tap';
import { ClusterNode } from '../kit/nodes.js';
import { quietFor } from '../kit/pause.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { patient, until } from '../kit/until.js';
import { ask, Watching } from '../kit/wire.js';

t.setTimeout(patient(120_000));

const STOPS = 5;

t.test('what is pushed to a machine that stands still', { skip: noRedis }, async (t) => {
  const redis = await RedisServer.start(t);
  const [a, b] = await Promise.all([
    ClusterNode.start(t, 'a', redis, { workers: 1 }),
    ClusterNode.start(t, 'b', redis, { workers: 1 }),
  ]);
  const watchers = [a, b].map((node) => new Watching(t, `${node.ws}/metadata/channel/live`));
  const songs = () => watchers.map(({ records }) => records.map(({ song }) => song as string));
  const push = async (node: ClusterNode, song: string) =>
    (await ask(t, node.port, `GET /metapush/live/demo-token?song=${song} HTTP/1.1`)).status;
  t.equal(await push(a, 'First'), 200);
  await until(() => songs().every((each) => each.at(-1) === 'First'), 20_000);
  for (let i = 0; i < STOPS; i++) {
    b.signal('SIGSTOP');
    await quietFor(1000);
    const late = push(b, `Late-${i}`);
    for (let n = 0; n < 5; n++) {
      await quietFor(1000);
      t.equal(await push(a, `Other-${i}-${n}`), 200);
    }
    b.signal('SIGCONT');
    t.equal(await late, 200);
    await until(
      () => songs().every((each) => each.at(-1) === `Late-${i}`),
      20_000,
      () => JSON.stringify(songs()),
    );
    await quietFor(1500);
    const [atA, atB] = songs() as [string[], string[]];
    t.same(atA.slice(-2), [`Other-${i}-4`, `Late-${i}`], 'it is decided against what has come meanwhile');
    t.same(atB.slice(-2), [`Other-${i}-4`, `Late-${i}`], 'and shown behind that');
    t.equal(atB.filter((song) => song === `Late-${i}`).length, 1, 'once');
  }
});
