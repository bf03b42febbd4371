/** Counters in plain fields: by label, and by how long something took. */

import t from 'tap';
import { Counts, Durations } from '../../src/base/counts.js';

t.test('each label has its count', async (t) => {
  const counts = new Counts();
  for (const label of ['a', 'b', 'a']) counts.add(label);
  t.same(
    [...counts.rows],
    [
      ['a', 2],
      ['b', 1],
    ],
  );
});

t.test('a duration counts in the first bucket that holds it, bounds included', async (t) => {
  const durations = new Durations([0.001, 0.01, 1]);
  for (const seconds of [0, 0.001, 0.0011, 0.01, 1, 1.5]) durations.add(seconds);
  t.same(durations.counts, [2, 2, 1, 1]);
  t.equal(durations.sumSeconds.toFixed(4), '2.5121');
});
