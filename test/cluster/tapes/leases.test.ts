/** Who feeds which channel: leases in a real Redis, as several nodes ask for them. */

import t from 'tap';
import { RedisLog } from '../../../src/cluster/log/redis-log.js';
import type { SharedLog } from '../../../src/cluster/log/shared-log.js';
import { type Leased, type LeaseOwner, Leases, NO_RANK, type Wish } from '../../../src/cluster/tapes/leases.js';
import { quietFor } from '../../kit/pause.js';
import { noRedis, RedisServer } from '../../kit/redis.js';
import { until } from '../../kit/until.js';

t.setTimeout(60_000);

/** One node that asks for one channel. */
class Asking implements Leased {
  wish: Wish = 0;
  rank = NO_RANK;
  #toSay = '';
  owner: LeaseOwner | null = null;
  readonly heard: string[] = [];
  readonly leases: Leases;
  isAway = false;
  namesTwice = 0;

  constructor(log: SharedLog, node: string, url = `http://${node}`) {
    this.leases = new Leases({
      node,
      url,
      channels: () => [['live', this]],
      ask: async (asked) => (this.isAway ? null : await log.lease(asked)),
      onNameTaken: () => this.namesTwice++,
      onBad: (place, reason) => t.fail(`${place}: ${reason}`),
      onError: (error) => t.fail(String(error)),
    });
  }

  /** What is new is said once. */
  get facts(): string {
    const said = this.#toSay;
    this.#toSay = '';
    return said;
  }

  set facts(facts: string) {
    this.#toSay = facts;
  }

  want(wish: Wish, rank: number): void {
    this.wish = wish;
    this.rank = rank;
    this.leases.poke();
  }

  onOwner(owner: LeaseOwner): void {
    this.owner = owner;
    if (owner.facts !== '') this.heard.push(owner.facts);
  }

  unsaid = 0;

  onUnsaid(): void {
    this.unsaid++;
  }

  async sees(node: string): Promise<void> {
    await until(
      () => this.owner?.node === node,
      8000,
      () => `${this.owner?.node} in place of ${node}`,
    );
  }
}

t.test('leases', { skip: noRedis }, async (t) => {
  const server = await RedisServer.start(t);
  const options = { url: server.url, sentinels: [], master: '', answerMs: 1000 };
  const log = await RedisLog.open(options, '');
  const [a, b, c] = ['a', 'b', 'c'].map((node) => new Asking(log, node)) as [Asking, Asking, Asking];
  await Promise.all([a, b, c].map(({ leases }) => leases.start()));
  t.equal(a.owner?.node, '', 'nobody wants it');

  b.want(1, NO_RANK);
  await b.sees('b');
  const idle = b.owner!.epoch;
  a.want(2, 1);
  await a.sees('a');
  await c.sees('a');
  t.equal(a.owner!.epoch, idle + 1, 'with a source before one without: another epoch');
  t.match(a.owner, { beforeNode: 'b', beforeUrl: 'http://b', url: 'http://a' });
  b.want(2, 1);
  await quietFor(700);
  t.equal(b.owner?.node, 'a', 'one that is as good does not take it');
  b.want(2, 0);
  await a.sees('b');
  t.equal(b.owner!.epoch, idle + 2, 'a better one does');

  b.facts = '{"one":1}';
  await until(
    () => c.heard.length === 1,
    3000,
    () => 'no facts',
  );
  await quietFor(700);
  t.same(c.heard, ['{"one":1}'], 'facts are said once to each');
  t.same(b.heard, [], 'and not to the one that says them');
  b.facts = '{"one":2}';
  await until(
    () => c.heard.length === 2 && a.heard.length === 2,
    3000,
    () => 'no news of facts',
  );

  t.comment('another program publishes facts in its name: it publishes its own again');
  const forged = b.unsaid;
  const lie = { channel: 'live', wish: 1, rank: 0, facts: 'a lie', known: null } as const;
  const lasting = { lastsMs: 5000, staleMs: 2000 };
  await log.lease({ node: 'b', url: 'http://liar', run: 'another', ...lasting, leases: [lie] });
  await until(
    () => b.unsaid > forged,
    3000,
    () => 'the lie stands',
  );
  await until(
    () => c.owner?.url === 'http://b',
    3000,
    () => 'not back at its address',
  );

  t.comment('what did not arrive, or was forgotten, is said again');
  const before = b.unsaid;
  b.isAway = true;
  await until(
    () => b.unsaid > before,
    3000,
    () => 'not known to be unsaid',
  );
  b.isAway = false;
  await server.ask('DEL facts owner');
  b.facts = '';
  const lost = b.unsaid;
  await until(
    () => b.unsaid > lost && b.owner?.node === 'b',
    3000,
    () => 'not known to be forgotten',
  );

  t.comment('an owner that is away, and cannot be reached either');
  b.isAway = true;
  a.want(3, 1);
  const awayMs = performance.now();
  await a.sees('a');
  t.ok(performance.now() - awayMs < 2000, 'has lost it soon');
  b.isAway = false;
  b.want(2, 0);
  await a.sees('b');

  t.comment('one that is away only for Redis keeps it until it has run out');
  b.isAway = true;
  const goneMs = performance.now();
  a.want(2, 1);
  await quietFor(3000);
  t.equal(a.owner?.node, 'b');
  await a.sees('a');
  const lastedMs = performance.now() - goneMs;
  t.ok(lastedMs > 4000 && lastedMs < 6500, `5 s: ${Math.round(lastedMs)}`);
  b.isAway = false;
  b.want(0, NO_RANK);

  t.comment('a process that hands over to the next one of its node is waited for; one that ends gives it up');
  await a.leases.hold();
  c.want(3, 5);
  await quietFor(2000);
  t.equal(c.owner?.node, 'a');
  const next = new Asking(log, 'a');
  next.wish = 2;
  next.rank = 1;
  await next.leases.start();
  t.equal(next.owner?.node, 'a');
  t.equal(next.owner?.epoch, c.owner?.epoch, 'the same lease');
  const closedMs = performance.now();
  await next.leases.close();
  await c.sees('c');
  t.ok(performance.now() - closedMs < 1000, 'at once');
  t.same(
    [a, b, c, next].map(({ namesTwice }) => namesTwice),
    [0, 0, 0, 0],
  );
  for (const url of ['http://elsewhere', 'http://b']) {
    const other = new Asking(log, 'b', url);
    b.namesTwice = 0;
    await other.leases.start();
    await until(
      () => other.namesTwice > 0 && b.namesTwice > 0,
      3000,
      () => `two of one name are not noticed, the other at ${url}`,
    );
    await other.leases.close();
  }
  await Promise.all([b.leases.close(), c.leases.close()]);
  log.close();
});

t.test(
  'Redis is emptied: who feeds a channel keeps it against who does not, and knows that it does',
  { skip: noRedis },
  async (t) => {
    const server = await RedisServer.start(t);
    const options = { url: server.url, sentinels: [], master: '', answerMs: 1000 };
    const log = await RedisLog.open(options, '');
    t.teardown(() => log.close());
    const [a, b, c] = ['a', 'b', 'c'].map((node) => new Asking(log, node)) as [Asking, Asking, Asking];
    t.teardown(() => Promise.all([a, b, c].map(({ leases }) => leases.close())));
    await Promise.all([a, b, c].map(({ leases }) => leases.start()));
    a.want(2, 1);
    a.facts = '{"fed":"by a"}';
    await until(() => b.heard.length === 1 && c.heard.length === 1, 5000);

    for (let i = 0; i < 5; i++) {
      t.comment('the others ask before the one that feeds it does: one without a source, one with a worse one');
      a.isAway = true;
      await quietFor(100);
      b.want(1, NO_RANK);
      c.want(2, 3);
      await server.flush();
      await until(() => b.owner?.node === '' && c.owner?.node === '', 5000);
      await quietFor(400);
      t.same([b.owner?.node, c.owner?.node], ['', ''], 'it is not theirs');
      a.isAway = false;
      a.leases.poke();
      await Promise.all([a, b, c].map((each) => each.sees('a')));
      t.ok(a.owner!.epoch > 0);
      a.facts = '{"fed":"by a"}';
      const heard = b.heard.length;
      await until(() => b.heard.length > heard, 5000);
    }

    t.comment('it is gone as well: as a lease that is not renewed');
    a.isAway = true;
    await quietFor(100);
    b.want(0, NO_RANK);
    c.want(1, NO_RANK);
    await server.flush();
    const flushedMs = performance.now();
    await c.sees('c');
    const lastedMs = performance.now() - flushedMs;
    t.ok(lastedMs > 4000 && lastedMs < 6500, `5 s: ${Math.round(lastedMs)}`);
    b.want(3, 1);
    await b.sees('b');
    b.facts = '{"fed":"by b"}';
    await until(() => c.heard.at(-1) === '{"fed":"by b"}', 5000);

    t.comment('and cannot be reached either');
    b.isAway = true;
    await quietFor(100);
    await server.flush();
    c.want(3, 1);
    const lostMs = performance.now();
    await c.sees('c');
    const foundMs = performance.now() - lostMs;
    t.ok(foundMs > 700 && foundMs < 2500, `soon: ${Math.round(foundMs)}`);
  },
);
