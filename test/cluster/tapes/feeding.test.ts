/** How a node comes to feed a channel, and ceases to, by what Redis and the other nodes say; its tape, its listeners and its links are stood in for. */

import t from 'tap';
import { NO_FACTS } from '../../../src/channel/channel-facts-schema.js';
import { Feeding } from '../../../src/cluster/tapes/feeding.js';
import type { LeaseOwner } from '../../../src/cluster/tapes/leases.js';
import { RemoteFacts } from '../../../src/cluster/tapes/remote-facts.js';
import { encode } from '../../../src/metadata/codec.js';
import { FakeClock } from '../../kit/clock.js';
import { until } from '../../kit/until.js';

const FACTS = encode(NO_FACTS);

function scene() {
  const clock = new FakeClock();
  const done: string[] = [];
  const note = (what: string) => () => void done.push(what);
  const audio = { key: 'live', tape: undefined, lastMark: 0, feedUntil: () => undefined, dropHeld: () => undefined };
  const channel = { key: 'live', audio, setRemote: () => undefined, keepComing: () => undefined };
  const link = {
    audio: { tape: undefined, lastMark: 0, want: () => undefined },
    hls: { isWanted: false },
    isConnected: false,
    disconnect: note('disconnect'),
    giveUp: () => undefined,
  };
  const feeding = new Feeding(
    {
      channel: channel as never,
      link: link as never,
      claim: { wish: 0, isQuiet: true, lookAwaited: () => false } as never,
      played: { isOwn: true, playOwn: () => undefined, move: () => undefined, lookCaughtUp: note('look') } as never,
      remote: Object.assign(new RemoteFacts(clock), { keep: () => undefined }),
    },
    {
      clock,
      node: 'a',
      isFenced: true,
      log: { info: () => undefined, warn: () => undefined } as never,
      names: {} as never,
      ask: () => Promise.reject(new Error('nobody is there')),
      others: async () => [],
      isReturned: () => false,
      onFacts: note('facts'),
      onOwned: note('owned'),
      onDue: () => undefined,
      onError: (error) => t.fail(`${error}`),
    },
  );
  const say = (node: string, epoch: number, more: Partial<LeaseOwner> = {}) => {
    const askedMs = clock.now();
    feeding.onOwner({ node, url: `http://${node}`, epoch, beforeNode: '', beforeUrl: '', facts: '', askedMs, ...more });
  };
  return { clock, done, feeding, say };
}

t.test('nobody had the lease before: it feeds the channel at once', async (t) => {
  const { done, feeding, say } = scene();
  say('a', 1);
  t.equal(feeding.phase, 'owning');
  t.same(done, ['owned']);
});

t.test('another one has it: that one is followed, and the next one after it', async (t) => {
  const { done, feeding, say } = scene();
  say('b', 1, { facts: FACTS });
  t.equal(feeding.phase, 'following');
  say('b', 1);
  say('c', 2);
  t.same(done, ['facts', 'disconnect', 'look', 'look', 'disconnect', 'look']);
});

t.test('the lease comes to it: the tape is taken first', async (t) => {
  const { done, feeding, say } = scene();
  say('b', 1);
  say('a', 2, { beforeNode: 'b', beforeUrl: 'http://b' });
  t.equal(feeding.phase, 'taking');
  await until(() => feeding.phase === 'owning', 5000);
  t.equal(done.at(-1), 'owned');
});

t.test('another one asks for the tape: older answers of Redis do not count for a while', async (t) => {
  const { clock, feeding, say } = scene();
  say('a', 2);
  t.notOk(feeding.yieldTo({ node: 'b', url: 'http://b', epoch: 1 }), 'it had the lease before');
  t.ok(feeding.yieldTo({ node: 'b', url: 'http://b', epoch: 3 }));
  t.notOk(feeding.yieldTo({ node: 'c', url: 'http://c', epoch: 4 }), 'it is not fed here any more');
  say('a', 2);
  t.same([feeding.phase, feeding.owner.node], ['following', 'b']);
  clock.advance(2000);
  say('a', 2);
  t.equal(feeding.owner.node, 'a');
});

t.test('another one has the lease and does not ask: this one goes on alone', async (t) => {
  const { clock, feeding, say } = scene();
  say('a', 1);
  const pass = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      clock.advance(100);
      feeding.tick(clock.now(), true);
    }
  };
  say('b', 2);
  pass(2900);
  t.same([feeding.phase, feeding.isAlone, feeding.isRemote], ['owning', false, false]);
  pass(100);
  t.same([feeding.phase, feeding.isAlone, feeding.isRemote], ['owning', true, true]);
  say('a', 2, { beforeNode: 'a' });
  t.same([feeding.phase, feeding.isAlone], ['owning', false], 'with the lease again it is not alone');
});

t.test('Redis was emptied: nothing changes', async (t) => {
  const { feeding, say } = scene();
  say('b', 1);
  say('', 0, { url: '' });
  t.equal(feeding.owner.node, 'b');
});

t.test('facts that cannot be read: the known ones stay, and the owner and its address count', async (t) => {
  const { done, feeding, say } = scene();
  say('b', 1, { facts: FACTS, url: 'http://liar' });
  t.throws(() => say('b', 1, { facts: 'no facts' }));
  t.same([feeding.owner.url, done], ['http://b', ['facts', 'disconnect', 'look', 'disconnect', 'look']]);
  t.throws(() => say('c', 2, { facts: 'no facts' }));
  t.same([feeding.owner.node, done.filter((what) => what === 'facts')], ['c', ['facts']]);
});
