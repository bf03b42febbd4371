/** A few dozen random pairs of configurations under listeners, encoders and watchers; test/long/reload-pairs.test.ts has thousands. */

import t from 'tap';
import { reloadPairs } from '../kit/reload-pairs.js';

t.test('30 pairs: what the plan says is what happens, nobody else loses a byte', (t) =>
  reloadPairs(t, { pairs: 30, listeners: 60, watchers: 20, drainEvery: 30 }),
);
