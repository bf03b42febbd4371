/** Players of HLS that are only counted: each once, for three target durations, no more than there may be, over processes. */

import t from 'tap';
import { Tallies } from '../../../src/base/tallies.js';
import { HlsCrowd } from '../../../src/listener/hls/hls-crowd.js';
import { FakeClock } from '../../kit/clock.js';

const TARGET_MS = 4000;

function asks(address: string, headers: Readonly<Record<string, string>> = {}) {
  return { address, header: (name: string) => headers[name] };
}

t.test('each counts once, by what it says of itself, for three target durations after it asked', async (t) => {
  const clock = new FakeClock();
  const crowd = new HlsCrowd(clock, new Tallies(), () => 100);
  for (let i = 0; i < 5; i++) crowd.asked('demo', asks('192.0.2.1', { 'user-agent': 'A' }), TARGET_MS);
  crowd.asked('demo', asks('192.0.2.1', { 'user-agent': 'B' }), TARGET_MS);
  crowd.asked('demo', asks('192.0.2.1', { 'x-playback-session-id': 'p' }), TARGET_MS);
  crowd.asked('demo', asks('192.0.2.9', { 'x-playback-session-id': 'p' }), TARGET_MS);
  crowd.asked('other', asks('192.0.2.1', { 'user-agent': 'A' }), TARGET_MS);
  t.strictSame([crowd.count('demo'), crowd.count('other'), crowd.count('none')], [3, 1, 0]);
  clock.advance(3 * TARGET_MS - 1);
  crowd.tidy(clock.now());
  t.equal(crowd.count('demo'), 3);
  crowd.asked('demo', asks('192.0.2.1', { 'user-agent': 'A' }), TARGET_MS);
  clock.advance(1);
  crowd.tidy(clock.now());
  t.strictSame([crowd.count('demo'), crowd.count('other')], [1, 0], 'who has asked again is there');
});

t.test('at the limit and one past it, of all channels', async (t) => {
  const clock = new FakeClock();
  const crowd = new HlsCrowd(clock, new Tallies(), () => 1000);
  for (let i = 0; i < 1000; i++) crowd.asked(`c${i % 2}`, asks(`192.0.2.${i}`), TARGET_MS);
  t.strictSame([crowd.count('c0'), crowd.count('c1')], [500, 500]);
  for (let i = 1000; i < 3000; i++) crowd.asked('c0', asks(`192.0.2.${i}`), TARGET_MS);
  t.equal(crowd.count('c0'), 500);
  clock.advance(2 * TARGET_MS);
  for (let i = 0; i < 500; i++) crowd.asked('c0', asks(`192.0.2.${2 * i}`), TARGET_MS);
  clock.advance(2 * TARGET_MS);
  crowd.tidy(clock.now());
  t.strictSame([crowd.count('c0'), crowd.count('c1')], [500, 0], 'those who are there stay');
  crowd.asked('c1', asks('192.0.2.1'), TARGET_MS);
  t.equal(crowd.count('c1'), 1, 'there is room again');
});

t.test('who has asked two processes counts once, and no process counts more than all may have', async (t) => {
  const clock = new FakeClock();
  const all = [new Tallies(), new Tallies()];
  const [one, two] = all.map((tallies) => new HlsCrowd(clock, tallies, () => 3)) as [HlsCrowd, HlsCrowd];
  for (const tallies of all) tallies.share(() => undefined);
  const exchange = () => {
    for (const [i, tallies] of all.entries()) {
      const rows = tallies.take(1000);
      if (rows !== null) all[1 - i]!.apply(rows, false);
    }
  };
  for (const crowd of [one, two]) crowd.asked('demo', asks('192.0.2.1'), TARGET_MS);
  two.asked('demo', asks('192.0.2.2'), TARGET_MS);
  exchange();
  t.strictSame([one.count('demo'), two.count('demo')], [2, 2]);
  one.asked('demo', asks('192.0.2.3'), TARGET_MS);
  t.equal(one.count('demo'), 2, 'there are three requests of players by now');
  clock.advance(3 * TARGET_MS);
  for (const crowd of [one, two]) crowd.tidy(clock.now());
  exchange();
  t.strictSame([one.count('demo'), two.count('demo')], [0, 0]);
});
