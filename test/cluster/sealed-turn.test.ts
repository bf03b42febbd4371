/** The secrets that machines have in common, such as a certificate: sealed, said when it is news, and read by those of the same secret only. */

import t from 'tap';
import { z } from 'zod';
import { SealedTurn } from '../../src/cluster/sealed-turn.js';
import type { LeaseOwner } from '../../src/cluster/tapes/leases.js';
import { quietFor } from '../kit/pause.js';

const SHARED = { account: 'an account, secret', pair: 'a chain and its key' };
const schema = z.object({ account: z.string(), pair: z.string().nullable() });
const SECRET = Buffer.from('a secret that all machines of this test know');

function owner(node: string, facts = ''): LeaseOwner {
  return { node, facts, url: '', beforeNode: '', beforeUrl: '', epoch: 1, askedMs: 0 };
}

t.test('sealed', async (t) => {
  const bad: string[] = [];
  const make = (node: string, secret = SECRET, name = 'a', label = 'test 1') =>
    new SealedTurn({ name, label, node, secret, schema, onBad: (why) => bad.push(why) });
  const one = make('one');
  one.say(SHARED);
  t.equal(one.facts, '', 'it has not the turn');
  one.onOwner(owner('one'));
  const facts = one.facts;
  t.notMatch(Buffer.from(facts, 'base64url').toString('latin1'), /account|chain|secret/);
  const two = make('two');
  two.onOwner(owner('one', facts));
  t.same(two.heard(), SHARED);
  t.notOk(two.isOwn);
  two.onOwner(owner('one'));
  t.same(two.heard(), SHARED, 'it knows it still');

  const flipped = Buffer.from(facts, 'base64url');
  flipped[40]! ^= 1;
  const lies = ['', 'x', facts.slice(0, 30), facts.slice(0, -4), flipped.toString('base64url'), 'y'.repeat(1_000_000)];
  const others = [
    make('two'),
    make('two', Buffer.from('another secret, of another cluster')),
    make('two', SECRET, 'b'),
    make('two', SECRET, 'a', 'test 2'),
  ];
  for (const lie of lies) others[0]!.onOwner(owner('one', lie));
  for (const other of others.slice(1)) other.onOwner(owner('one', facts));
  t.same(
    others.map((other) => other.heard()),
    [null, null, null, null],
  );
  t.equal(bad.length, lies.length - 1 + 3);
});

t.test('said once, and again where it was lost or is another', async (t) => {
  const one = new SealedTurn({
    ...{ name: 'a', label: 'test 1', node: 'one', secret: SECRET, schema },
    onBad: () => undefined,
  });
  one.say(SHARED);
  one.onOwner(owner('one'));
  t.notOk(one.wasSaid(0));
  const first = one.facts;
  t.ok(first);
  t.equal(one.facts, '');
  one.say({ ...SHARED });
  t.equal(one.facts, '', 'the same');
  t.ok(one.wasSaid(0));
  t.notOk(one.wasSaid(1000));
  await quietFor(30);
  t.ok(one.wasSaid(20));
  one.onUnsaid();
  t.notOk(one.wasSaid(0));
  t.not(one.facts, first, 'each time with another nonce');
  one.say({ ...SHARED, pair: null });
  t.ok(one.facts);
  one.onOwner(owner('two'));
  t.notOk(one.wasSaid(0));
  t.equal(one.facts, '');
  t.same(one.heard(), { ...SHARED, pair: null }, 'what the other machine has of it');
  one.onOwner(owner('one'));
  t.ok(one.facts, 'another turn');
});
