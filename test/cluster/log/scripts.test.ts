/** What another program has written into Redis is longer, or more, than one answer may be: nodes skip it, and go on; a new one joins. */

import t from 'tap';
import { checkedLog } from '../../../src/cluster/log/checked-log.js';
import { HeldLog } from '../../../src/cluster/log/held-log.js';
import { RedisLog } from '../../../src/cluster/log/redis-log.js';
import { ANSWER_BYTES, type SharedLog } from '../../../src/cluster/log/shared-log.js';
import { allUntil, startNode } from '../../kit/cluster.js';
import { askedLease, commitOf, joining, leaseQuestion } from '../../kit/log-questions.js';
import { noRedis, RedisServer } from '../../kit/redis.js';
import { patient, until } from '../../kit/until.js';

t.setTimeout(180_000);

const LONG = `string.rep('a', ${65 * 1024 * 1024})`;
const MANY = 600_000;
const CASES: Readonly<Record<string, { readonly script: string; readonly bad?: RegExp }>> = {
  'an entry of the log': {
    script: [
      `local seq = redis.call('HINCRBY', 'test:meta', 'seq', 1)`,
      `return redis.call('XADD', 'test:log', seq .. '-0', 'c', 'x', 'v', '1', 'p', 'junk', 'n', 'z', 's', '0', 'o', ${LONG}, 'h', '[]')`,
    ].join(' '),
    bad: /^entry 3 of the log: /,
  },
  'a last value': {
    script: `return redis.call('HSET', 'test:last', 'x', ${LONG})`,
    bad: /^the last value of channel x: /,
  },
  'last values of channels that are not here': {
    script: `for i = 1, ${MANY} do redis.call('HSET', 'test:last', 'z' .. i, 'a') end return redis.call('HSET', 'test:last', 'z', ${LONG})`,
  },
  'the epoch': { script: `return redis.call('SET', 'test:epoch', ${LONG})` },
  'a node': { script: `return redis.call('HSET', 'test:node', 'z', ${LONG})` },
  nodes: { script: `for i = 1, ${MANY} do redis.call('HSET', 'test:node', 'z' .. i, 'a') end return 1` },
  'the facts of a channel': { script: `return redis.call('HSET', 'test:facts', 'x', ${LONG})` },
  'the owner of a channel': { script: `return redis.call('HSET', 'test:owner', 'x', ${LONG})` },
};

for (const [name, { script, bad }] of Object.entries(CASES)) {
  t.test(name, { skip: noRedis }, async (t) => {
    const redis = await RedisServer.start(t);
    const options = { answerMs: patient(2000) };
    const living = await startNode(t, redis.url, 'living', options);
    await living.push('x', 'before');
    await living.engine.lease(leaseQuestion('living', 'http://living', askedLease('x', { wish: 2, rank: 1 })));
    t.notMatch(await redis.ask(`EVAL "${script}" 0`), /^-/);
    const fresh = await startNode(t, redis.url, 'new', options);
    const nodes = [living, fresh];
    await allUntil(nodes, (node) => node.reason === null && node.engine.isReached, 'Redis is reached');
    await living.push('x', 'after');
    await allUntil(nodes, (node) => node.songs('x').at(-1) === 'after' && node.engine.waiting === 0, 'a push arrives');
    // Names that were among too many come back with the next question.
    await until(async () => {
      for (const { name, engine } of nodes) {
        await engine.lease(leaseQuestion(name, `http://${name}`, askedLease('x', { wish: 1, known: 5 })));
      }
      return [...(await fresh.engine.nodes()).keys()].sort().join() === 'living,new';
    }, 10_000);
    t.ok(nodes.every(({ engine }) => engine.isReached));
    t.same(
      nodes.flatMap(({ errors }) => errors),
      [],
    );
    if (bad !== undefined) t.match(fresh.bad.join('; '), bad, 'it is named');
  });
}

t.test('last values that are too long together come in parts', async (t) => {
  const logs: Record<string, () => Promise<SharedLog>> = { 'an origin': async () => new HeldLog().open() };
  if (noRedis === false) {
    const { url } = await RedisServer.start(t);
    logs['Redis'] = () => RedisLog.open({ url, sentinels: [], master: '', answerMs: 5000 }, 'p:');
  }
  for (const [name, open] of Object.entries(logs)) {
    const log = await open();
    const { epoch } = await log.hello(joining());
    const ordered = `"${'a'.repeat(ANSWER_BYTES / 2.5)}"`;
    for (const channel of ['a', 'b', 'c', 'e', 'f']) await log.commit(commitOf({ epoch, channel, ordered }));
    const asked = ['none', 'a', 'b', 'c', 'd', 'e', 'f', 'none too'];
    const channels = (pairs: readonly (readonly [string, string])[]) => pairs.map(([channel]) => channel).join('');
    t.equal(channels(await log.last(asked)), 'ab', name);
    const all = await checkedLog(log).last(asked);
    t.equal(channels(all), 'abcef', name);
    t.ok(all.every(([, text]) => text === `0 ${ordered}`));
    log.close();
  }
});
