/** Where the tape ended at a moment, against a list that is searched from its end. */

import t from 'tap';
import { Arrivals } from '../../src/audio/arrivals.js';
import { Random } from '../kit/random.js';

t.test('the end of the tape at any moment that is kept', async (t) => {
  const random = new Random();
  const keepMs = 5000;
  const arrivals = new Arrivals(keepMs);
  const all: [momentMs: number, endMs: number][] = [];
  let [nowMs, endMs] = [1000, 0];
  for (let i = 0; i < 3000; i++) {
    nowMs += random.chance(0.6) ? 0 : random.int(1, 40);
    endMs += random.int(1, 30);
    arrivals.note(nowMs, endMs);
    all.push([nowMs, endMs]);
    if (i % 10 > 0) continue;
    const momentMs = nowMs - random.int(0, keepMs);
    const [, expected] = all.findLast(([each]) => each <= Math.max(momentMs, all[0]![0]))!;
    t.equal(arrivals.endAt(momentMs), expected, `seed ${random.seed}, ${nowMs - momentMs} ms ago`);
  }
  const [, oldest] = all.findLast(([each]) => each <= nowMs - keepMs)!;
  t.equal(arrivals.endAt(0), oldest, 'of what is older, the oldest that is kept');
});
