/** Who counts as one listener, held against a model that looks at all connections anew. */

import t from 'tap';
import { Census, type Group, type Visitor } from '../../src/listener/census.js';
import { FakeClock } from '../kit/clock.js';
import { Random } from '../kit/random.js';

const TOGETHER_MS = 10_000;
const safari = (fields: Partial<Visitor> = {}): Visitor => ({
  address: '192.0.2.7',
  agent: 'Safari',
  metaid: null,
  playbackSession: undefined,
  ...fields,
});

t.test('what makes two connections one listener', async (t) => {
  const cases: readonly (readonly [
    why: string,
    first: Partial<Visitor>,
    second: Partial<Visitor>,
    listeners: number,
  ])[] = [
    ['one metaid', { metaid: 'm' }, { metaid: 'm', address: '192.0.2.8', agent: 'x' }, 1],
    ['two metaids', { metaid: 'm' }, { metaid: 'n' }, 2],
    ['one playback session', { playbackSession: 'p' }, { playbackSession: 'p', address: '192.0.2.8' }, 1],
    ['two playback sessions', { playbackSession: 'p' }, { playbackSession: 'q' }, 2],
    ['a metaid is no playback session', { metaid: 'x' }, { playbackSession: 'x', address: '192.0.2.8' }, 2],
    ['one address and agent', {}, {}, 1],
    ['two agents', {}, { agent: 'VLC' }, 2],
    ['two addresses', {}, { address: '192.0.2.8' }, 2],
    ['what is no playback session is passed over', { playbackSession: 'p'.repeat(129) }, { playbackSession: 'a b' }, 1],
  ];
  for (const [why, first, second, listeners] of cases) {
    const census = new Census(new FakeClock(), TOGETHER_MS);
    const groups = [safari(first), safari(second)].map((visitor) => census.join('demo', visitor));
    t.match(census.tally('demo'), { listeners, connections: 2, peakListeners: listeners, peakConnections: 2 }, why);
    for (const group of groups) census.leave(group);
    t.match(census.tally('demo'), { listeners: 0, connections: 0, peakListeners: listeners }, why);
    t.equal(census.size, 0, why);
  }
});

t.test('an address and agent is one listener for so long after its first connection, an id for ever', async (t) => {
  const clock = new FakeClock();
  const census = new Census(clock, TOGETHER_MS);
  const first = census.join('demo', safari());
  const named = census.join('demo', safari({ metaid: 'm' }));
  clock.advance(TOGETHER_MS);
  const atTheLimit = census.join('demo', safari());
  t.equal(census.tally('demo').listeners, 2);
  clock.advance(1);
  const later = census.join('demo', safari());
  t.equal(census.tally('demo').listeners, 3, 'one millisecond past it');
  census.leave(census.join('demo', safari({ metaid: 'm' })));
  t.equal(census.tally('demo').listeners, 3);
  for (const group of [first, atTheLimit]) census.leave(group);
  t.equal(census.tally('demo').listeners, 2, 'the older group goes without the newer one');
  const joined = census.join('demo', safari());
  t.equal(census.tally('demo').listeners, 2, 'which is still joined');
  for (const group of [later, named, joined]) census.leave(group);
  t.equal(census.size, 0);
});

t.test('channels are counted apart', async (t) => {
  const census = new Census(new FakeClock(), TOGETHER_MS);
  census.join('demo', safari({ metaid: 'm' }));
  census.join('studio', safari({ metaid: 'm' }));
  t.equal(census.tally('demo').listeners, 1);
  t.equal(census.tally('studio').listeners, 1);
  t.equal(census.tally('other').listeners, 0);
});

t.test('10,000 joins and leaves: always right, and nothing is left', async (t) => {
  const random = new Random();
  const clock = new FakeClock();
  const census = new Census(clock, TOGETHER_MS);
  const playing: Group[] = [];
  let [joins, most, worst] = [0, 0, 0];
  while (joins < 10_000 || playing.length > 0) {
    clock.advance(random.int(0, 400));
    if (joins < 10_000 && random.chance(0.55)) {
      const [kind, who] = [random.int(0, 2), String(random.int(0, 40))];
      const ids = [{ metaid: who }, { playbackSession: who }, { address: who }];
      playing.push(census.join('demo', safari(ids[kind]!)));
      joins++;
    } else if (playing.length > 0) census.leave(playing.splice(random.int(0, playing.length - 1), 1)[0]!);
    const { listeners, connections } = census.tally('demo');
    if (connections !== playing.length || listeners !== new Set(playing).size) worst++;
    if (census.size > listeners) worst++;
    most = Math.max(most, listeners);
  }
  t.equal(worst, 0, `seed ${random.seed}`);
  t.equal(census.tally('demo').peakListeners, most);
  t.equal(census.size, 0, 'nobody is remembered');
  t.ok(most > 100);
});
