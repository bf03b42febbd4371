/** Counts by key of several processes: what has to be said, how much that can become, and what only others have. */

import t from 'tap';
import { Notices, Tally } from '../../src/base/tally.js';
import { Random } from '../kit/random.js';

t.test('alone it counts, and has nothing to say', async (t) => {
  const tally = new Tally();
  tally.add('a', 2);
  tally.add('a', -1);
  tally.set('b', 5);
  t.same([tally.count('a'), tally.count('b'), tally.count('c'), tally.keys()], [1, 5, 0, ['a', 'b']]);
  t.same(tally.take(10), []);
  tally.share();
  t.same(tally.take(10), [['a', 1], ['b', 5]], 'shared it says all that is there'); // biome-ignore format: rows
});

t.test('said is what differs from what was said last, once', async (t) => {
  const tally = new Tally();
  tally.share();
  tally.add('a', 1);
  tally.add('a', 1);
  tally.add('b', 1);
  t.same(tally.take(1), [['a', 2]], 'as many as may be');
  tally.add('b', -1);
  t.same(tally.take(10), [], 'what came and went in between is not said');
  tally.add('a', -1);
  tally.add('a', 1);
  t.same(tally.take(10), []);
  tally.add('a', -2);
  t.same(tally.take(10), [['a', 0]]);
  tally.add('a', 3);
  tally.take(10);
  tally.share();
  t.same(tally.take(10), [['a', 3]], 'to somebody new all is said again');
});

t.test('a crowd that comes and goes faster than it can be said does not pile up', async (t) => {
  const random = new Random();
  const tally = new Tally();
  tally.share();
  const crowd = 200;
  const live: string[] = [];
  let last = 0;
  for (let turn = 0; turn < 500; turn++) {
    for (let i = 0; i < 100; i++) {
      if (live.length >= crowd) tally.add(live.splice(random.int(0, crowd - 1), 1)[0]!, -1);
      live.push(`address ${++last}`);
      tally.add(live.at(-1)!, 1);
    }
    tally.take(10);
  }
  const waiting = tally.take(Number.POSITIVE_INFINITY);
  t.ok(waiting.length <= 3 * crowd, `${waiting.length} of ${last} wait, SEED=${random.seed}`);
  t.equal(waiting.filter(([, count]) => count > 0).length + (crowd - countLeft(waiting, live)), crowd);
});

/** How many of the live ones are among those that wait. */
function countLeft(waiting: readonly (readonly [string, number])[], live: readonly string[]): number {
  const names = new Set(waiting.map(([name]) => name));
  return live.filter((name) => names.has(name)).length;
}

t.test('keys that only others have, against sets', async (t) => {
  const random = new Random();
  const tally = new Tally();
  tally.share();
  const own = new Map<string, number>();
  const others = new Map<string, number>();
  for (let i = 0; i < 5000; i++) {
    const key = String(random.int(0, 20));
    const count = random.int(0, 2);
    const isOwn = random.chance(0.5);
    if (isOwn) tally.set(key, count);
    else tally.setOthers(key, count);
    if (random.chance(0.01)) {
      tally.forgetOthers();
      others.clear();
      if (!isOwn) continue;
    }
    const model = isOwn ? own : others;
    if (count === 0) model.delete(key);
    else model.set(key, count);
    const elsewhere = [...others.keys()].filter((name) => !own.has(name)).length;
    if (tally.remoteCount !== elsewhere) t.equal(tally.remoteCount, elsewhere, `step ${i}, SEED=${random.seed}`);
    const sum = (own.get(key) ?? 0) + (others.get(key) ?? 0);
    if (tally.count(key) !== sum) t.equal(tally.count(key), sum, `step ${i}, SEED=${random.seed}`);
  }
  t.ok(own.size + others.size > 0);
});

t.test('a notice is told once, with others of its key; the oldest is forgotten where there are too many', async (t) => {
  const notices = new Notices(2);
  notices.add('a', 1);
  t.same(notices.take(10), [], 'alone there is nobody to tell');
  notices.share();
  notices.add('a', 1);
  notices.add('a', 0.5);
  notices.add('b', 1);
  notices.add('b', -1);
  t.same(notices.take(10), [['a', 1.5]]);
  t.same(notices.take(10), []);
  for (const key of ['a', 'b', 'c']) notices.add(key, 1);
  notices.share();
  t.same(notices.take(1), [['b', 1]]);
  t.same(notices.take(10), [['c', 1]]);
});
