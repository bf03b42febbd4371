/** When listeners are written to each second, and when each four. */

import t from 'tap';
import { MAX_MORE_MS } from '../../../src/audio/tape/burst.js';
import { extraMsFor, Pace, WRITE_SECONDS } from '../../../src/listener/cursor/pace.js';

t.test('auto: four seconds past 1,000 listeners, a second again below 750, and what it was between', async (t) => {
  const pace = new Pace(() => 'auto');
  const seconds = (listeners: number) => {
    pace.count(listeners);
    return pace.seconds;
  };
  t.same([0, 750, 1000].map(seconds), [1, 1, 1]);
  t.same([1001, 1000, 750, 1001, 20_000].map(seconds), [4, 4, 4, 4, 4]);
  t.same([749, 750, 1000].map(seconds), [1, 1, 1]);
  t.equal(seconds(1001), 4);
});

t.test('what is set counts, whatever the crowd', async (t) => {
  for (const setting of WRITE_SECONDS) {
    const pace = new Pace(() => setting);
    for (const listeners of [0, 749, 1001, 0]) {
      pace.count(listeners);
      t.equal(pace.seconds, setting);
    }
  }
});

t.test('a tape without listeners keeps what the one that is written to most seldom is given', async (t) => {
  t.equal(Math.max(...WRITE_SECONDS.map(extraMsFor)), MAX_MORE_MS);
});
