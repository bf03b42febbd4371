/** The facts of a live channel as other processes and machines get them: each has a default, and moments are of the clock of who reads them. */

import t from 'tap';
import {
  type ChannelFacts,
  FACTS,
  factsSchema,
  NO_FACTS,
  withMoments,
} from '../../src/channel/channel-facts-schema.js';
import { areSame, linkedLive } from '../../src/link/facts/channel-facts.js';
import { decode, encode } from '../../src/metadata/codec.js';
import { FakeClock } from '../kit/clock.js';

const SOME: ChannelFacts = {
  ...NO_FACTS,
  onAir: 1,
  missingSinceMs: 5000,
  sends: 'aac',
  sampleRate: 44_100,
  channels: 2,
};

const sent = (facts: object) => decode<ChannelFacts>(factsSchema, encode(facts));

t.test(
  'facts arrive as they were; each that a machine of an earlier version does not send has its default',
  async (t) => {
    t.same(sent(SOME), SOME);
    t.same(sent({}), NO_FACTS);
    for (const name of FACTS) {
      const { [name]: _, ...rest } = SOME;
      t.same(sent(rest), { ...SOME, [name]: NO_FACTS[name] }, name);
    }
    t.throws(() => sent({ ...SOME, onAir: -1 }), /^onAir: /);
  },
);

t.test('moments alone move to another clock, and "never" stays what it is', async (t) => {
  const { silentSinceMs, missingSinceMs, ...rest } = withMoments(SOME, (ms) => ms + 700);
  t.same([silentSinceMs, missingSinceMs], [Number.POSITIVE_INFINITY, 5700]);
  t.match(SOME, rest);
});

t.test('a rounding error of a moment is not a change, and any other difference is', async (t) => {
  t.ok(areSame(SOME, { ...SOME, missingSinceMs: 5001.5 }));
  t.notOk(areSame(SOME, { ...SOME, missingSinceMs: 5003 }));
  t.notOk(areSame(SOME, { ...SOME, missingSinceMs: Number.POSITIVE_INFINITY }));
  t.notOk(areSame(SOME, { ...SOME, sampleRate: 44_101 }), 'a number that is not a moment');
});

t.test('a channel of which nothing is known is silent; then it is as the process that feeds it says', async (t) => {
  const clock = new FakeClock();
  const live = linkedLive(clock);
  t.match(live, { silentSinceMs: clock.now(), onAir: null, hopeful: true, format: null });
  live.set(SOME);
  const { format } = live;
  t.match(live, { silentSinceMs: Number.POSITIVE_INFINITY, missingSinceMs: 5000, onAir: 1 });
  t.same(format, { codec: 'aac', sampleRate: 44_100, channels: 2 });
  t.equal(live.format, format, 'the same object, by which the switch knows that it has not changed');
});
