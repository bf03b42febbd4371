/** When the hub looks at its channels' facts, and what of them it sends. */

import t from 'tap';
import { type ChannelFacts, NO_FACTS } from '../../../src/channel/channel-facts-schema.js';
import { FACTS_LOOK_MS, HubFacts } from '../../../src/link/facts/hub-facts.js';
import { FakeClock } from '../../kit/clock.js';

function scene() {
  const clock = new FakeClock();
  const channels = new Map([['live', { key: 'live' } as never]]);
  const sent: string[] = [];
  const there: { facts: ChannelFacts } = { facts: NO_FACTS };
  const facts = new HubFacts({
    clock,
    channels,
    remoteAudio: () => there,
    send: (channel, { onAir }) => sent.push(`${channel}: ${onAir}`),
  });
  const change = (some: Partial<ChannelFacts>) => {
    there.facts = { ...there.facts, ...some };
  };
  return { clock, channels, sent, facts, change };
}

t.test('a change is sent once, to a worker that links as well as to those that are there', async (t) => {
  const { sent, facts, change } = scene();
  facts.lookAll();
  t.same(sent, [], 'none at first');
  change({ onAir: 0 });
  t.equal(facts.now().get('live')?.onAir, 0);
  facts.lookAll();
  t.same(sent, ['live: 0']);
});

t.test('of a channel that another machine feeds the facts change by themselves', async (t) => {
  const { facts } = scene();
  t.equal(facts.nextLookMs(1_000_100), 1_000_100 + FACTS_LOOK_MS);
});

t.test('while nothing is fed it looks at whole seconds only', async (t) => {
  const facts = new HubFacts({ clock: new FakeClock(), channels: new Map(), send: () => undefined });
  t.equal(facts.nextLookMs(1_000_100), 1_001_000);
});

t.test('after a change of source it looks at once, and soon again until there is audio', async (t) => {
  const { clock, sent, facts, change } = scene();
  facts.sourceChanged('live');
  change({ onAir: 0 });
  t.same(sent, [], 'not before the channel has handled it');
  await null;
  t.same(sent, ['live: 0']);
  clock.advance(500);
  change({ onAir: 1, hasSegments: true });
  clock.advance(60);
  t.same(sent, ['live: 0', 'live: 1']);
  change({ onAir: 2 });
  clock.advance(500);
  t.equal(sent.length, 2, 'there is audio: not any more');
});

t.test('without audio it looks soon again for two seconds', async (t) => {
  const { clock, sent, facts, change } = scene();
  facts.sourceChanged('live');
  clock.advance(2100);
  change({ onAir: 0 });
  clock.advance(500);
  t.same(sent, []);
});

t.test('a channel that was removed meanwhile', async (t) => {
  const { clock, channels, sent, facts, change } = scene();
  facts.sourceChanged('live');
  channels.delete('live');
  facts.forget('live');
  change({ onAir: 0 });
  clock.advance(100);
  t.same(sent, []);
  t.same([...facts.now().keys()], []);
});
