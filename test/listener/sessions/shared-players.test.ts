/** Private listeners of HLS over several processes: who has one, who hears that it has asked, what becomes of it when a process or the hub goes. */

import t from 'tap';
import { METAID } from '../../../src/base/key.js';
import { PLAYER_KEY, playerKey } from '../../../src/listener/sessions/shared-players.js';
import { FakeClock } from '../../kit/clock.js';
import { SessionCluster } from '../../kit/session-cluster.js';

const KEY = playerKey('a'.repeat(22), '/demo.mp3', 'demo');

function setUp() {
  const clock = new FakeClock();
  const cluster = new SessionCluster(3, clock, () => clock.now());
  const [one, two, three] = cluster.workers.map(({ players }) => players!);
  const asked: number[] = [];
  const ended: string[] = [];
  const player = (name: string) => ({
    sinceMs: clock.now(),
    onAsked: (bytes: number) => void asked.push(bytes),
    onRemote: () => void ended.push(name),
  });
  return { clock, cluster, one: one!, two: two!, three: three!, asked, ended, player };
}

t.test('a key says neither token nor mount, and is no metaid', async (t) => {
  t.match(KEY, PLAYER_KEY);
  t.notMatch(KEY, METAID);
  t.not(playerKey('a'.repeat(22), '/demo', 'demo'), KEY);
  t.not(playerKey('b'.repeat(22), '/demo.mp3', 'demo'), KEY);
  t.not(playerKey('a'.repeat(22), '/demo.mp3', 'other'), KEY);
});

t.test('the others know where it is, and it hears of each request', async (t) => {
  const { cluster, one, two, three, asked, player } = setUp();
  let known = 0;
  const cancel = two.await(KEY, () => known--);
  two.await(KEY, () => known++);
  cancel();
  one.add(KEY, player('one'));
  await cluster.settle();
  t.equal(known, 1, 'who waited is called once');
  t.strictSame([one.has(KEY), two.has(KEY), three.has(KEY)], [false, true, true]);
  two.asked(KEY, 1234);
  three.asked(KEY, 0);
  await cluster.settle();
  t.strictSame(asked, [1234, 0]);
  t.equal(one.onAsked(KEY, Buffer.from('-1')), false);
  t.equal(one.onAsked(KEY, Buffer.from('9'.repeat(10))), false);
  t.equal(one.onAsked('hls:none', Buffer.from('1')), false);
  one.remove(KEY);
  await cluster.settle();
  t.strictSame([two.has(KEY), three.has(KEY)], [false, false]);
});

t.test('it goes with its process, and is known to the next hub', async (t) => {
  const { cluster, clock, one, two, three, asked, player } = setUp();
  one.add(KEY, player('one'));
  await cluster.settle();
  cluster.restart();
  t.ok(two.has(KEY), 'what is known stays while there is no hub');
  await cluster.settle();
  clock.advance(3000);
  two.asked(KEY, 7);
  await cluster.settle();
  t.strictSame([two.has(KEY), asked], [true, [7]]);
  cluster.cut(0);
  await cluster.settle();
  t.strictSame([two.has(KEY), three.has(KEY)], [false, false]);
});

t.test('what a lost hub said and the next one does not is forgotten', async (t) => {
  const { cluster, clock, one, two, player } = setUp();
  one.add(KEY, player('one'));
  await cluster.settle();
  for (const i of [0, 1, 2]) cluster.cut(i);
  one.remove(KEY);
  cluster.restart();
  await cluster.settle();
  t.ok(two.has(KEY));
  clock.advance(2000);
  t.notOk(two.has(KEY));
});

t.test('of two that admit it at the same moment the earlier one keeps it', async (t) => {
  const { cluster, clock, one, two, ended, player } = setUp();
  two.add(KEY, player('two'));
  clock.advance(5);
  one.add(KEY, player('one'));
  await cluster.settle();
  t.strictSame(ended, ['one']);
});

t.test('at the very same time one of them does, and only one', async (t) => {
  const { cluster, one, two, ended, player } = setUp();
  two.add(KEY, player('two'));
  one.add(KEY, player('one'));
  await cluster.settle();
  t.equal(ended.length, 1);
});
