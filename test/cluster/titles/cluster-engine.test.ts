/** The engine of a node keeps the port's contract, on a real Redis and without it; nodes agree, whatever happens to Redis. */

import t from 'tap';
import type { Refusal } from '../../../src/base/refusal.js';
import { bestOfThree } from '../../kit/best-of-three.js';
import { allUntil, benchOf, startNode, type TestNode } from '../../kit/cluster.js';
import { leaseQuestion } from '../../kit/log-questions.js';
import { timeOf } from '../../kit/loop-delay.js';
import { pause, quietFor } from '../../kit/pause.js';
import { noRedis, RedisServer } from '../../kit/redis.js';
import { awaited, until } from '../../kit/until.js';
import { engineContract } from '../../titles/engine-contract.js';

t.setTimeout(120_000);

/** Between pushes to two nodes that are apart: far more than what their clocks are wrong by on a busy machine. */
const APART_MS = 300;

t.test('the contract', { skip: noRedis }, async (t) => {
  const redis = await RedisServer.start(t);
  let bench = 0;
  await t.test('with Redis', (t) =>
    engineContract(t, async () =>
      // Redis counts as away only where it is: the burst of changes, on a busy machine, takes longer than half a second.
      benchOf(await startNode(t, redis.url, 'a', { prefix: `${++bench}:`, answerMs: 5000 }), (isFailing) =>
        isFailing ? redis.kill() : redis.start(),
      ),
    ),
  );
});

t.test('the contract, without a Redis', (t) =>
  engineContract(t, async () => benchOf(await startNode(t, 'redis://127.0.0.1:1', 'a'), () => undefined)),
);

t.test('what one node is pushed all have, in one order, each once', { skip: noRedis }, async (t) => {
  const redis = await RedisServer.start(t);
  const [a, b] = [await startNode(t, redis.url, 'a'), await startNode(t, redis.url, 'b')];
  const pushes = Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? a : b).push('x', `${i}`));
  await Promise.all(pushes);
  await allUntil([a, b], ({ engine }) => engine.state('x').version === 50, '50 changes');
  t.same(a.songs('x'), b.songs('x'));
  t.equal(new Set(a.songs('x')).size, 50);
  const versions = b.delivered.map(({ change }) => change.record!.version);
  t.same(
    versions,
    Array.from({ length: 50 }, (_, i) => i + 1),
  );
  t.same(a.engine.state('x').now, b.engine.state('x').now, 'with the same stamp');
  const stamps = b.delivered.map(({ change }) => change.record!.stamp!);
  t.same(
    stamps,
    stamps.toSorted((x, y) => x - y),
  );
  t.same(a.sequence.open, [], 'all are published');
  t.same(a.store.history('x', { limit: 99 }), b.store.history('x', { limit: 99 }), 'the history is the same');
});

t.test(
  'Redis is away: pushes are answered and shown, and delivered in order when it is back',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const [a, b] = [await startNode(t, redis.url, 'a'), await startNode(t, redis.url, 'b')];
    await a.push('x', 'before');
    await allUntil([b], ({ engine }) => engine.state('x').now?.song === 'before', 'the first');
    const songs = ['before'];
    const tookMs = await bestOfThree(1000, async (attempt) => {
      await redis.kill();
      for (const song of [1, 2, 3].map((n) => `${attempt}.${n}`)) {
        songs.push(song);
        t.ok(await awaited(a.push('x', song), 2000, () => 'it waits for Redis'));
      }
      t.same(a.songs('x'), songs, 'shown');
      t.equal(a.engine.waiting, 3);
      await redis.start();
      const isDelivered = ({ engine }: TestNode) =>
        engine.state('x').now?.song === songs.at(-1) && engine.waiting === 0;
      return timeOf(t, () => allUntil([a, b], isDelivered, 'delivered'));
    });
    t.ok(tookMs < 1000, `within a second of its return: ${tookMs} ms`);
    t.same(b.songs('x'), songs, 'in order');
    t.same(a.songs('x'), songs, 'and not again');
    t.same(
      a.store.history('x', { limit: 99 }).map(({ record }) => record.song),
      songs.toReversed(),
    );
    t.same(
      b.store
        .history('x', { limit: 99 })
        .map(({ record, fromMs, toMs }) => [record.song, record.version, fromMs, toMs]),
      a.store
        .history('x', { limit: 99 })
        .map(({ record, fromMs, toMs }) => [record.song, record.version, fromMs, toMs]),
    );
    t.same(a.engine.state('x').version, b.engine.state('x').version);
  },
);

t.test(
  'a channel that is removed while a change is under way: the push is refused, and it takes others once it is back',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    // How often it is there when it is asked for.
    let left = Number.POSITIVE_INFINITY;
    const [a, b] = [await startNode(t, redis.url, 'a', { has: () => left-- > 0 }), await startNode(t, redis.url, 'b')];
    const refusalOf = (push: Promise<unknown>) =>
      awaited(
        push.then(
          () => null,
          ({ kind }: Refusal) => kind,
        ),
        5000,
        () => 'it waits',
      );
    await a.push('x', 'one');
    left = 1;
    t.equal(await refusalOf(a.push('x', 'two')), 'not-found', 'it is in the log when the channel is gone');
    t.equal(await refusalOf(a.push('x', 'three')), 'not-found', 'it is gone before');
    t.same(a.songs('x'), ['one']);
    left = Number.POSITIVE_INFINITY;
    a.engine.learn(['x']);
    await allUntil([a, b], ({ engine }) => engine.state('x').now?.song === 'two', 'as the log has it');
    await awaited(a.push('x', 'four'), 5000, () => 'it is blocked');
    await allUntil([b], ({ engine }) => engine.state('x').now?.song === 'four', 'the others have it');

    await redis.kill();
    await allUntil([a, b], ({ reason }) => reason !== null, 'it is away');
    await a.push('x', 'unsent');
    t.equal(a.engine.waiting, 1);
    left = 0;
    await redis.start();
    await allUntil([a, b], ({ reason }) => reason === null, 'it is back');
    await pause(500);
    t.equal(a.engine.waiting, 1, 'what is not here is not sent');
    left = Number.POSITIVE_INFINITY;
    a.engine.learn(['x']);
    await allUntil([a, b], ({ engine }) => engine.state('x').now?.song === 'unsent' && engine.waiting === 0, 'sent');
    await awaited(a.engine.close(), 5000, () => 'it does not close');
  },
);

t.test(
  'two nodes take pushes apart: the later one stands everywhere, nobody goes back',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const [a, b, c] = [
      await startNode(t, redis.url, 'a', { aheadMs: 30_000 }),
      await startNode(t, redis.url, 'b', { aheadMs: -30_000 }),
      await startNode(t, redis.url, 'c'),
    ];
    await a.push('x', 'before');
    await allUntil([b, c], ({ engine }) => engine.state('x').now?.song === 'before', 'the first');
    await redis.kill();
    await allUntil([a, b, c], ({ reason }) => reason !== null, 'it is away');
    await a.push('x', 'a1');
    await pause(APART_MS);
    await b.push('x', 'b1');
    await pause(APART_MS);
    await a.push('x', 'a2');
    await pause(APART_MS);
    await b.push('x', 'b2');
    t.same(a.songs('x'), ['before', 'a1', 'a2']);
    t.same(b.songs('x'), ['before', 'b1', 'b2']);
    await redis.start();
    await allUntil(
      [a, b, c],
      ({ engine }) => engine.state('x').now?.song === 'b2' && engine.waiting === 0,
      'they agree',
    );
    await quietFor(200);
    for (const node of [a, b, c]) {
      const order = ['before', 'a1', 'b1', 'a2', 'b2'];
      const places = node.songs('x').map((song) => order.indexOf(song));
      t.same(
        places,
        [...new Set(places)].sort(),
        `${node.name} got no older title behind a newer one, and none twice: ${node.songs('x')}`,
      );
      t.equal(node.engine.state('x').version, a.engine.state('x').version);
      t.same(
        new Set(node.store.history('x', { limit: 9 }).map(({ record }) => record.song)),
        new Set(order),
        `${node.name} has all in its history: ${node.store.history('x', { limit: 9 }).map(({ record }) => `${record.song} ${record.version}`)}`,
      );
      t.equal(node.store.history('x', { limit: 99 }).length, 5, `${node.name} has each once`);
    }
  },
);

t.test('a Redis that stands still: nothing is lost, nothing twice', { skip: noRedis }, async (t) => {
  const redis = await RedisServer.start(t);
  const [a, b] = [await startNode(t, redis.url, 'a'), await startNode(t, redis.url, 'b')];
  await a.push('x', 'before');
  redis.stop();
  const pushes = [a.push('x', '1', 'id1'), a.push('x', '2', 'id2'), b.push('y', '3', 'id3')];
  for (const made of await Promise.all(pushes)) t.ok(made);
  redis.resume();
  await allUntil([a, b], ({ engine }) => engine.waiting === 0 && engine.isReached, 'sent');
  await allUntil(
    [a, b],
    ({ engine }) => engine.state('x').now?.song === '2' && engine.state('y').now?.song === '3',
    'they agree',
  );
  for (const node of [a, b]) {
    t.same(node.songs('x'), ['before', '1', '2'], node.name);
    t.same(node.songs('y'), ['3']);
  }
});

t.test(
  'a Redis that was emptied is filled from the nodes; one that was set back is brought forward',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const [a, b] = [await startNode(t, redis.url, 'a'), await startNode(t, redis.url, 'b')];
    await a.push('x', '1');
    const snapshot = await redis.snapshot();
    await b.push('x', '2');
    await a.push('y', '3');
    await allUntil(
      [a, b],
      ({ engine }) => engine.state('y').now?.song === '3' && engine.state('x').now?.song === '2',
      'all',
    );
    await redis.flush();
    const c = await startNode(t, redis.url, 'c');
    await a.push('x', '4');
    await allUntil(
      [a, b, c],
      ({ engine }) => engine.state('x').now?.song === '4' && engine.state('y').now?.song === '3',
      'filled',
    );
    t.same(b.songs('x'), ['1', '2', '4']);
    t.same(a.songs('y'), ['3'], 'not again');
    await redis.restore(snapshot);
    await allUntil([a, b, c], ({ engine }) => engine.isReached, 'there again');
    await allUntil(
      [a, b, c],
      ({ engine }) => engine.state('x').now?.song === '4' && engine.state('y').now?.song === '3',
      'brought forward',
    );
    await b.push('x', '5');
    const d = await startNode(t, redis.url, 'd');
    await allUntil(
      [a, b, c, d],
      ({ engine }) => engine.state('x').now?.song === '5' && engine.state('y').now?.song === '3',
      'goes on',
    );
    t.same(a.songs('x'), ['1', '2', '4', '5']);
    t.same(a.songs('y'), ['3']);
    const versions = a.delivered.filter(({ channel }) => channel === 'x').map(({ change }) => change.state.version);
    t.same(
      versions,
      versions.toSorted((x, y) => x - y),
      'versions never go back',
    );
  },
);

t.test(
  'a node that was away reads what it has missed, whole; past the length of the log the last of each',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const a = await startNode(t, redis.url, 'a', { logEntries: 100 });
    const gone = await startNode(t, redis.url, 'b', { logEntries: 100 });
    await a.push('x', '0');
    await allUntil([gone], ({ engine }) => engine.state('x').now?.song === '0', 'the first');
    await gone.engine.close();
    t.equal(gone.reason, null, 'a close is not a loss');
    for (let i = 1; i <= 20; i++) await a.push('x', `${i}`);
    const b = await startNode(t, redis.url, 'b', { store: gone.store, logEntries: 100 });
    await allUntil([b], ({ engine }) => engine.state('x').now?.song === '20', 'it has come to the end');
    t.same(b.store.history('x', { limit: 99 }), a.store.history('x', { limit: 99 }), 'with the history');
    await b.engine.close();
    for (let i = 21; i <= 400; i++) await a.push('x', `${i}`);
    const again = await startNode(t, redis.url, 'b', { store: gone.store, logEntries: 100 });
    await allUntil([again], ({ engine }) => engine.state('x').now?.song === '400', 'it has the last');
    const length = Number((await redis.ask('XLEN test:log')).slice(1));
    t.ok(length >= 100 && length <= 300, `the log is bounded: ${length}`);
  },
);

t.test(
  'a node that joins reads what the log has for its history, and pushes do not wait for that',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const options = { logEntries: 10_000 };
    const a = await startNode(t, redis.url, 'a', options);
    for (let i = 1; i <= 2000; i++) await a.push('x', `${i}`);
    const b = await startNode(t, redis.url, 'b', options);
    const rows = (node: TestNode) => node.store.history('x', { limit: 10_000 });
    await b.push('x', 'mine');
    await a.push('x', 'of a');
    await allUntil([b], ({ engine }) => engine.state('x').now?.song === 'of a', 'what others push');
    t.ok(rows(b).length < 1900, `${rows(b).length} rows were read meanwhile`);
    // One that ends under way reads them again.
    await b.engine.close();
    t.ok(rows(b).length < 1900);
    const again = await startNode(t, redis.url, 'b', { ...options, store: b.store });
    // An entry's end comes with the next one.
    const playsOf = (node: TestNode) => rows(node).map(({ record, fromMs, toMs }) => [record.id, fromMs, toMs]);
    // Thousands of rows: asked for each time, they would take the time that reading them needs.
    const plays = `${playsOf(a)}`;
    const isSame = () => `${playsOf(again)}` === plays;
    await until(isSame, 10_000, () => 'it has not the same as the other', 500);
  },
);

t.test(
  'what waits for Redis is bounded, survives a restart, and the newest is never dropped',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const store = (await startNode(t, redis.url, 'a')).store;
    await redis.kill();
    const a = await startNode(t, redis.url, 'a', { store, waitingChanges: 5 });
    for (let i = 1; i <= 6; i++) await a.push('x', `${i}`);
    t.equal(a.engine.waiting, 5);
    t.equal(a.dropped, 1, 'one past the limit');
    await a.engine.close();
    await redis.start();
    const [again, b] = [
      await startNode(t, redis.url, 'a', { store, waitingChanges: 5 }),
      await startNode(t, redis.url, 'b'),
    ];
    await allUntil([again, b], ({ engine }) => engine.state('x').now?.song === '6' && engine.waiting === 0, 'sent');
    // It has joined before they were sent, or behind them.
    t.ok(['6', undefined].includes(b.songs('x').at(-1)), `${b.songs('x')}`);
  },
);

t.test(
  'a Redis that is full is away, also where nobody pushes: with its reason, until it has room',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const [a, b] = [await startNode(t, redis.url, 'a'), await startNode(t, redis.url, 'b')];
    await a.push('x', '1');
    await redis.ask('CONFIG SET maxmemory 1');
    await t.rejects(a.engine.lease(leaseQuestion('a', 'http://a:1')), { message: /^OOM / });
    t.match(a.reason?.message, /OOM /);
    await b.push('x', '2');
    t.match(b.reason?.message, /OOM /);
    await quietFor(1000);
    t.match([a.reason?.message, b.reason?.message], [/OOM /, /OOM /], 'it stays so');
    t.ok(a.errors.length + b.errors.length < 5, `${a.errors.length} ${b.errors.length}`);
    await redis.ask('CONFIG SET maxmemory 0');
    await allUntil([a, b], ({ engine }) => engine.state('x').now?.song === '2' && engine.waiting === 0, 'room');
    await t.resolves(a.engine.lease(leaseQuestion('a', 'http://a:1')));
  },
);

t.test(
  'Redis forgets while it is pushed to: all nodes have the same history, with every push that was answered, once',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const nodes = [
      await startNode(t, redis.url, 'a'),
      await startNode(t, redis.url, 'b'),
      await startNode(t, redis.url, 'c'),
    ];
    const answered: string[] = [];
    for (let round = 0; round < 4; round++) {
      let isOver = false;
      const pushing = nodes.map(async (node) => {
        for (let i = 0; !isOver; i++) {
          const song = `${node.name} ${round}.${i}`;
          await node.push('x', song);
          answered.push(song);
          await pause(20);
        }
      });
      await pause(300);
      await redis.ask('FLUSHALL');
      await pause(700);
      isOver = true;
      await Promise.all(pushing);
      const rows = (node: TestNode) => node.store.history('x', { limit: 10_000 });
      const plays = (node: TestNode) =>
        rows(node).map(({ record, fromMs, toMs }) => `${fromMs} ${toMs} ${record.song}`);
      await allUntil(
        nodes,
        (node) => node.engine.waiting === 0 && `${plays(node)}` === `${plays(nodes[0]!)}`,
        `round ${round}: one history`,
      );
      for (const node of nodes) {
        const songs = rows(node).map(({ record }) => record.song);
        t.equal(
          new Set(rows(node).map(({ record, fromMs }) => `${fromMs} ${record.id}`)).size,
          songs.length,
          'each play once',
        );
        t.same(
          answered.filter((song) => !songs.includes(song)),
          [],
          `${node.name}: every push that was answered`,
        );
      }
      if (!t.passing()) return;
    }
  },
);
