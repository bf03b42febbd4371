/** A CPU profile by function: own time, without what was idle. */

import t from 'tap';
import { selfTimes } from '../../bench/profile.js';

t.test('a sample stands for the time up to the next, and the idle time is nobody’s', async (t) => {
  const node = (id: number, functionName: string, url = '') => ({ id, callFrame: { functionName, url } });
  const times = selfTimes({
    nodes: [
      node(1, '(idle)'),
      node(2, 'push', 'file:///x/dist/audio/tape.js'),
      node(3, '', 'node:net'),
      node(4, 'push', 'file:///x/dist/audio/tape.js'),
    ],
    samples: [1, 2, 3, 4, 2],
    timeDeltas: [5, 1000, 300, 100, 500],
  });
  t.strictSame(times, [
    { name: 'push audio/tape.js', share: 800 / 900 },
    { name: '(anonymous) node:net', share: 100 / 900 },
  ]);
});
