/** What an error says: of a host with several addresses, wherever airsplice connects to one. */

import dns from 'node:dns';
import t from 'tap';
import { ask } from '../../../src/cli/server.js';
import { Redis } from '../../../src/cluster/log/redis.js';
import { askForLog } from '../../../src/cluster/tapes/tape-client.js';
import { messageOf } from '../../../src/net/outbound/message-of.js';
import { freePort } from '../../kit/process.js';

t.test('an error, and what is none', async (t) => {
  t.equal(messageOf(new Error('lost')), 'lost');
  t.equal(messageOf('lost'), 'lost');
  t.equal(messageOf(new AggregateError([new Error('one')], 'both')), 'both');
  t.equal(messageOf(new AggregateError([new Error('one'), new Error('two'), new Error('one')])), 'one; two');
});

t.test('a host with two addresses, neither of which takes connections', async (t) => {
  const place = `two.example:${await freePort()}`;
  const { lookup } = dns;
  t.teardown(() => void (dns.lookup = lookup));
  const answer = (_host: string, _options: object, done: (error: null, found: readonly object[]) => void) =>
    done(
      null,
      ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 })),
    );
  dns.lookup = answer as unknown as typeof lookup;
  const secret = Buffer.alloc(32, 's');
  const signal = AbortSignal.timeout(10_000);
  const redis = { sentinels: [], master: '', answerMs: 10_000 };
  const ways: Readonly<Record<string, () => Promise<unknown>>> = {
    redis: () => Redis.connect({ ...redis, url: `redis://${place}` }, {}),
    rediss: () => Redis.connect({ ...redis, url: `rediss://${place}` }, {}),
    sentinel: () => Redis.connect({ ...redis, url: `redis://${place}`, sentinels: [`redis://${place}`] }, {}),
    origin: () => askForLog(`http://${place}`, { node: 'a', secret, ca: undefined }),
    command: () => ask(`http://${place}`, { signal }),
  };
  for (const [name, connect] of Object.entries(ways))
    await t.rejects(
      connect(),
      { message: /connect ECONNREFUSED 127\.0\.0\.1:\d+; connect ECONNREFUSED 127\.0\.0\.2/ },
      name,
    );
});
