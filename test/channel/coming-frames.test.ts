/** An encoder comes to another machine than feeds its channel: it is heard from its first frame on, by everybody. */

import t, { type Test } from 'tap';
import { ComingFrames, MAX_COMING_MS } from '../../src/channel/coming-frames.js';
import { bestOfThree } from '../kit/best-of-three.js';
import { frameOf } from '../kit/frame-of.js';
import { LoopDelay } from '../kit/loop-delay.js';
import { allAreWell, allHear, ClusterNode, FILE_FRAMES, FILE_SOURCE, type NodeSetting } from '../kit/nodes.js';
import { pause } from '../kit/pause.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { KNOWN_EVERYWHERE_MS } from '../kit/server.js';
import { StampedEncoder } from '../kit/stamped.js';
import { until } from '../kit/until.js';

/** Until an encoder that comes back to another machine feeds the channel; a listener is written to once a second. */
const MAX_MS = 1000;
const VISIT_MS = 1000;

async function start(t: Test, ofA: NodeSetting, ofB: NodeSetting = ofA) {
  const redis = await RedisServer.start(t);
  return Promise.all([ClusterNode.start(t, 'a', redis, ofA), ClusterNode.start(t, 'b', redis, ofB)]);
}

const listenAt = (nodes: readonly ClusterNode[]) =>
  nodes.flatMap((node) => [true, false].map((icy) => node.listen(icy, new Map([[FILE_SOURCE, FILE_FRAMES]]))));

t.test('where another one plays a file', { skip: noRedis }, async (t) => {
  const nodes = await start(t, { sources: ['encoder', FILE_SOURCE] }, { sources: ['encoder'] });
  const listeners = listenAt(nodes);
  await allHear(listeners, FILE_SOURCE, 15_000);
  new StampedEncoder(t, nodes[1]!.port, '/live', 'demo-source', 'mp3', 1);
  await allHear(listeners, 1, 5000);
  for (const { reader } of listeners) t.match(reader.runs.at(-1), { source: 1, first: 0 });
  allAreWell(t, listeners, 'every frame is whole');
});

t.test('where another one waits for it', { skip: noRedis }, async (t) => {
  const [a, b] = await start(t, { sources: ['encoder'], encoder: 'lingerSeconds: 60' });
  const first = new StampedEncoder(t, a!.port, '/live', 'demo-source', 'mp3', 1);
  await first.taken();
  await pause(KNOWN_EVERYWHERE_MS);
  const listeners = listenAt([a!, b!]);
  await allHear(listeners, 1, 15_000);
  const feeds = (node: ClusterNode) => node.said.split('this machine feeds the channel').length;
  let [before, at] = [first, a!];
  const overMs = await bestOfThree(0, async (attempt) => {
    const node = at === a ? b! : a!;
    const times = feeds(node);
    before.socket.destroy();
    const source = 2 + attempt;
    const next = new StampedEncoder(t, node.port, '/live', 'demo-source', 'mp3', source);
    await next.taken();
    const late = new LoopDelay(t);
    const startMs = performance.now();
    const tookMs = () => performance.now() - startMs - late.totalMs;
    await until(() => feeds(node) > times, 15_000);
    const fedMs = tookMs();
    await allHear(listeners, source, 15_000);
    const heardMs = tookMs();
    t.comment(`it feeds the channel after ${fedMs} ms, heard after ${heardMs} ms`);
    for (const { reader } of listeners) t.match(reader.runs.at(-1), { source, first: 0 });
    allAreWell(t, listeners, 'every frame is whole');
    [before, at] = [next, node];
    return Math.max(fedMs - MAX_MS, heardMs - MAX_MS - VISIT_MS);
  });
  t.ok(overMs < 0, `${overMs} ms later than it may feed the channel and be heard`);

  const last = new StampedEncoder(t, at === a ? b!.port : a!.port, '/live', 'demo-source', 'mp3', 9);
  await last.taken();
  before.socket.destroy();
  await allHear(listeners, 9, 5000);
  allAreWell(t, listeners, 'and back');
});

t.test('kept from the first on, for a time; what listeners had of the other machine meanwhile is not', async (t) => {
  const coming = new ComingFrames();
  const bytes = Buffer.from('x');
  const push = (arrivedMs: number) => coming.isOpen && coming.push(frameOf(bytes, 26, 128), arrivedMs);
  const taken = () => coming.take().map(({ arrivedMs }) => arrivedMs);
  push(0);
  t.same(taken(), [], 'nobody waits for it');

  coming.begin(1000);
  push(1000);
  bytes[0] = 0;
  const [first] = coming.take();
  t.equal(String(first?.bytes), 'x', 'a copy');
  push(1001);
  t.same(taken(), [], 'no more behind that');

  coming.begin(1000);
  for (const ms of [1000, 1001, 1002]) push(ms);
  coming.pass(1001, 1100);
  push(1200);
  t.same(taken(), [1002, 1200]);

  coming.begin(1000);
  push(1000);
  push(1000 + MAX_COMING_MS);
  t.equal(taken().length, 2, 'at the limit');
  coming.begin(1000);
  push(1000);
  push(1001 + MAX_COMING_MS);
  t.notOk(coming.isOpen);
  coming.keep(1002 + MAX_COMING_MS);
  push(1002 + MAX_COMING_MS);
  t.same(taken(), [], 'one past it, and it does not begin again');

  coming.begin(1000);
  coming.pass(0, 1001 + MAX_COMING_MS);
  push(1002 + MAX_COMING_MS);
  t.same(taken(), [], 'it was not about to feed the channel');
  coming.keep(20_000);
  push(20_001);
  coming.keep(24_000);
  push(24_001);
  t.same(taken(), [20_001, 24_001], 'now it is');
});
