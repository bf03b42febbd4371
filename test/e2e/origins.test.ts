/** Machines without a Redis: an edge takes all from an origin; whichever of them ends, the other goes on. */

import t from 'tap';
import { allAreWell, allHear, ClusterNode, FILE_SOURCE } from '../kit/nodes.js';
import { quietFor } from '../kit/pause.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { StampedEncoder } from '../kit/stamped.js';
import { until } from '../kit/until.js';
import { ask, Watching } from '../kit/wire.js';

t.setTimeout(240_000);

const push = async (node: ClusterNode, song: string) => {
  const { status } = await fetch(`http://127.0.0.1:${node.port}/metapush/live/demo-token?song=${song}`);
  if (status !== 200) throw new Error(`a push at ${node.name}: ${status}`);
};

const songs = ({ records }: Watching) => records.map(({ song }) => song);

t.test('an edge serves what an origin has: audio, titles, sessions, an encoder that comes to it', async (t) => {
  const origin = await ClusterNode.start(t, 'origin', null);
  const edge = await ClusterNode.start(t, 'edge', origin);
  const first = new StampedEncoder(t, origin.port, '/live', 'demo-source', 'mp3', 1);
  await until(
    () => first.isTaken,
    10_000,
    () => `no answer: ${first.answer} ${origin.said}`,
  );
  const isThere = async () => (await ask(t, edge.port, 'GET /readyz?channels=live HTTP/1.1')).status === 200;
  await until(isThere, 5000, () => `no audio at the edge: ${edge.said}`);
  const listeners = [origin, edge, edge].map((node, i) => node.listen(i < 2));
  const watchers = await Promise.all(
    [origin, edge].map((node) => new Watching(t, `${node.ws}/metadata/channel/live`).opened()),
  );
  await allHear(listeners, 1);
  await push(origin, 'One');
  await push(edge, 'Two');
  await until(
    () => watchers.every((each) => `${songs(each)}`.endsWith('One,Two')),
    5000,
    () => JSON.stringify(watchers.map(songs)),
  );
  const known = await ask(t, edge.port, 'GET /readyz?cluster HTTP/1.1');
  t.match(JSON.parse(known.body), {
    ready: true,
    node: 'edge',
    log: { place: 'an origin', reached: true },
    channels: [{ channelkey: 'live', owner: 'origin' }],
  });

  t.comment('the encoder comes back to the edge');
  first.socket.destroy();
  await quietFor(300);
  const second = new StampedEncoder(t, edge.port, '/live', 'demo-source', 'mp3', 2);
  await allHear(listeners, 2, 10_000);
  allAreWell(t, listeners, 'nobody was ended');
  t.ok(second.isTaken);
});

t.test('the origin is away: the edge goes on, takes pushes, and both agree when it is back', async (t) => {
  const origin = await ClusterNode.start(t, 'origin', null);
  const edge = await ClusterNode.start(t, 'edge', origin, { sources: ['encoder', FILE_SOURCE] });
  const encoder = new StampedEncoder(t, origin.port, '/live', 'demo-source', 'mp3', 1);
  const listeners = [edge, edge].map((node, i) => node.listen(i === 0));
  const watcher = await new Watching(t, `${edge.ws}/metadata/channel/live`).opened();
  await allHear(listeners, 1, 15_000);
  await push(origin, 'One');
  await until(
    () => songs(watcher).includes('One'),
    5000,
    () => JSON.stringify(songs(watcher)),
  );
  await origin.kill();
  t.ok(encoder.source);
  await push(edge, 'Two');
  await push(edge, 'Three');
  t.same(songs(watcher).slice(-2), ['Two', 'Three'], 'shown at once');
  await allHear(listeners, FILE_SOURCE, 15_000);
  allAreWell(t, listeners, 'its file goes on where the encoder was lost, on the same connections');

  await origin.start();
  const atOrigin = async () => (await ask(t, origin.port, 'GET /metadata/channel/live.json HTTP/1.1')).body;
  await until(
    async () => (await atOrigin()).includes('Three'),
    10_000,
    () => `the origin does not know it: ${origin.said}`,
  );
  const back = new StampedEncoder(t, origin.port, '/live', 'demo-source', 'mp3', 2);
  await allHear(listeners, 2, 15_000);
  t.ok(back.isTaken);
  await push(origin, 'Four');
  await until(
    () => songs(watcher).at(-1) === 'Four',
    5000,
    () => JSON.stringify(songs(watcher)),
  );
  t.same(songs(watcher).slice(-4), ['One', 'Two', 'Three', 'Four'], 'each once, in order');
  allAreWell(t, listeners, 'nobody was ended');
});

t.test('where an origin has lost its Redis the next one is asked', { skip: noRedis }, async (t) => {
  const [lost, redis] = [await RedisServer.start(t), await RedisServer.start(t)];
  const origins = [await ClusterNode.start(t, 'one', lost), await ClusterNode.start(t, 'two', redis)];
  await lost.kill();
  const edge = await ClusterNode.start(t, 'edge', origins, { mayFeed: false });
  const isReached = async () =>
    (await ask(t, edge.port, 'GET /readyz?cluster HTTP/1.1')).body.includes('"reached":true');
  await until(isReached, 5000, () => edge.said);
  const watcher = await new Watching(t, `${edge.ws}/metadata/channel/live`).opened();
  await push(origins[1]!, 'One');
  await until(
    () => songs(watcher).at(-1) === 'One',
    5000,
    () => JSON.stringify(songs(watcher)),
  );
});

t.test('the hub of the origin is another process: nobody notices', async (t) => {
  const origin = await ClusterNode.start(t, 'origin', null, { sources: [FILE_SOURCE] });
  const edge = await ClusterNode.start(t, 'edge', origin, { mayFeed: false });
  const listeners = [origin, edge, edge].map((node, i) => node.listen(i < 2));
  const watcher = await new Watching(t, `${edge.ws}/metadata/channel/live`).opened();
  await allHear(listeners, FILE_SOURCE, 15_000);
  await push(origin, 'One');
  const [pid] = origin.pidsOf('hub');
  process.kill(pid!, 'SIGKILL');
  await until(
    () => origin.pidsOf('hub').some((each) => each !== pid),
    10_000,
    () => 'no other hub',
  );
  const isReached = async () =>
    (await ask(t, edge.port, 'GET /readyz?cluster HTTP/1.1')).body.includes('"reached":true');
  await until(isReached, 10_000, () => `the edge does not find it: ${edge.said}`);
  await push(edge, 'Two');
  await until(
    () => songs(watcher).at(-1) === 'Two',
    10_000,
    () => JSON.stringify(songs(watcher)),
  );
  await quietFor(3000);
  t.same(songs(watcher).slice(-2), ['One', 'Two']);
  allAreWell(t, listeners, 'every frame, once, on the same connections');
});
