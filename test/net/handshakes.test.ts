/** However many handshakes wait: a turn of the loop begins few, origins take turns, those under way are bounded, places are not hoarded. */

import { performance } from 'node:perf_hooks';
import t, { type Test } from 'tap';
import { TlsHandshake, TlsHandshakes } from '../../src/net/handshakes.js';
import { until } from '../kit/player.js';

const WORK_MS = 1;

const turn = () => new Promise((next) => setImmediate(next));

/** Adds so many of this origin, which note by name when they are begun, after the work of one, done in a tick after its start as in Node. */
function add(to: TlsHandshakes, origin: string, count: number, begun: string[], onDropped = (_: string) => {}) {
  return Array.from({ length: count }, (_, i) => {
    const name = `${origin}${i}`;
    const begin = () =>
      process.nextTick(() => {
        const endMs = performance.now() + WORK_MS;
        while (performance.now() < endMs);
        begun.push(name);
      });
    const handshake = new TlsHandshake(origin, begin, () => onDropped(name));
    to.add(handshake);
    return handshake;
  });
}

const names = (origin: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `${origin}${from + i}`);

t.test('a turn of the loop begins for 2 ms; one that is done with waiting is not begun', async (t) => {
  const handshakes = new TlsHandshakes(1000);
  const begun: string[] = [];
  const all = add(handshakes, 'a', 100, begun);
  handshakes.done(all[50]!);
  handshakes.done(all[50]!);
  t.same(begun, [], 'none in the turn in which they were added');
  let most = 0;
  for (let before = 0; begun.length < 99; before = begun.length) {
    await turn();
    most = Math.max(most, begun.length - before);
  }
  t.same(begun, [...names('a', 0, 50), ...names('a', 51, 100)], 'in order');
  t.ok(most >= 1 && most <= 2, `${most} of 1 ms in one turn`);
  for (const each of all) handshakes.done(each);
  await idle(t, handshakes);
});

t.test('origins take turns; a quarter of the places is the most of one', async (t) => {
  const handshakes = new TlsHandshakes(8);
  const begun: string[] = [];
  const crowd = add(handshakes, 'crowd', 20, begun);
  const [other] = add(handshakes, 'other', 1, begun);
  await until(() => begun.length === 3, 2000);
  t.same(begun, ['crowd0', 'other0', 'crowd1'], 'the other one is second');
  for (let i = 0; i < 20; i++) await turn();
  t.equal(begun.length, 3, 'two of eight places are those of one origin');
  handshakes.done(crowd[0]!);
  await until(() => begun.length === 4, 2000);
  t.equal(begun[3], 'crowd2');
  for (const each of [...crowd, other!]) handshakes.done(each);
  await idle(t, handshakes);
});

t.test('who takes longer than 3 s makes room, in all and of an origin', async (t) => {
  const handshakes = new TlsHandshakes(4);
  const begun: string[] = [];
  const dropped: string[] = [];
  const onDropped = (name: string) => void dropped.push(name);
  const startMs = performance.now();
  const hoard = ['a', 'b', 'c', 'd'].flatMap((origin) => add(handshakes, origin, 1, begun, onDropped));
  await until(() => begun.length === 4, 2000);
  const late = add(handshakes, 'e', 1, begun, onDropped);
  const ofA = add(handshakes, 'a', 2, begun, onDropped);
  await until(() => begun.length === 6, 6000);
  t.ok(performance.now() - startMs >= 3000, 'not before');
  t.same(new Set(dropped), new Set(['a0', 'b0']), 'the oldest of all, and of the origin that has its part');
  for (const each of [...hoard, ...late, ...ofA]) handshakes.done(each);
  await idle(t, handshakes);
});

/** What is left after all is done holds nothing up. */
async function idle(t: Test, handshakes: TlsHandshakes): Promise<void> {
  const begun: string[] = [];
  const [last] = add(handshakes, 'last', 1, begun);
  await until(() => begun.length === 1, 2000);
  handshakes.done(last!);
  t.same(begun, ['last0']);
}
