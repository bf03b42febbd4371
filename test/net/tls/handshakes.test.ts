/** However many handshakes wait: a turn of the loop begins few, origins take turns, those under way are bounded, places are not hoarded. */

import t, { type Test } from 'tap';
import { TlsHandshake, TlsHandshakes } from '../../../src/net/tls/handshakes.js';
import { FakeClock } from '../../kit/clock.js';
import { until } from '../../kit/until.js';

const WORK_MS = 1;

interface Bench {
  readonly handshakes: TlsHandshakes;
  readonly clock: FakeClock;
}

function makeBench(most: number): Bench {
  const clock = new FakeClock();
  return { handshakes: new TlsHandshakes(clock, most), clock };
}

const turn = () => new Promise((next) => setImmediate(next));

/** Adds so many of this origin, which note by name when they are begun, after the work of one, done in a tick after its start as in Node. */
function add(
  { handshakes, clock }: Bench,
  origin: string,
  count: number,
  begun: string[],
  onDropped = (_: string) => {},
) {
  return Array.from({ length: count }, (_, i) => {
    const name = `${origin}${i}`;
    const begin = () =>
      process.nextTick(() => {
        clock.spend(WORK_MS);
        begun.push(name);
      });
    const handshake = new TlsHandshake(origin, begin, () => onDropped(name));
    handshakes.add(handshake);
    return handshake;
  });
}

const names = (origin: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `${origin}${from + i}`);

t.test('a turn of the loop begins for 2 ms; one that is done with waiting is not begun', async (t) => {
  const bench = makeBench(1000);
  const { handshakes } = bench;
  const begun: string[] = [];
  const all = add(bench, 'a', 100, begun);
  handshakes.done(all[50]!);
  handshakes.done(all[50]!);
  t.same(begun, [], 'none in the turn in which they were added');
  let most = 0;
  for (let before = 0; begun.length < 99; before = begun.length) {
    await turn();
    most = Math.max(most, begun.length - before);
  }
  t.same(begun, [...names('a', 0, 50), ...names('a', 51, 100)], 'in order');
  t.equal(most, 2, 'of 1 ms in one turn');
  for (const each of all) handshakes.done(each);
  await idle(t, bench);
});

t.test('origins take turns; a quarter of the places is the most of one', async (t) => {
  const bench = makeBench(8);
  const { handshakes } = bench;
  const begun: string[] = [];
  const crowd = add(bench, 'crowd', 20, begun);
  const [other] = add(bench, 'other', 1, begun);
  await until(() => begun.length === 3, 2000);
  t.same(begun, ['crowd0', 'other0', 'crowd1'], 'the other one is second');
  for (let i = 0; i < 20; i++) await turn();
  t.equal(begun.length, 3, 'two of eight places are those of one origin');
  handshakes.done(crowd[0]!);
  await until(() => begun.length === 4, 2000);
  t.equal(begun[3], 'crowd2');
  for (const each of [...crowd, other!]) handshakes.done(each);
  await idle(t, bench);
});

t.test('who takes longer than 3 s makes room, in all and of an origin', async (t) => {
  const bench = makeBench(4);
  const { handshakes, clock } = bench;
  const begun: string[] = [];
  const dropped: string[] = [];
  const onDropped = (name: string) => void dropped.push(name);
  const hoard = ['a', 'b', 'c', 'd'].flatMap((origin) => add(bench, origin, 1, begun, onDropped));
  await until(() => begun.length === 4, 2000);
  const late = add(bench, 'e', 1, begun, onDropped);
  const ofA = add(bench, 'a', 2, begun, onDropped);
  for (let i = 0; i < 20; i++) await turn();
  clock.advance(2900);
  for (let i = 0; i < 20; i++) await turn();
  t.same([begun.length, dropped], [4, []], 'not before');
  clock.advance(240);
  await until(() => begun.length === 6, 2000);
  t.same(new Set(dropped), new Set(['a0', 'b0']), 'the oldest of all, and of the origin that has its part');
  for (const each of [...hoard, ...late, ...ofA]) handshakes.done(each);
  await idle(t, bench);
});

/** What is left after all is done holds nothing up. */
async function idle(t: Test, bench: Bench): Promise<void> {
  const begun: string[] = [];
  const [last] = add(bench, 'last', 1, begun);
  await until(() => begun.length === 1, 2000);
  bench.handshakes.done(last!);
  t.same(begun, ['last0']);
}
