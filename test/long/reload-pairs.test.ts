/** 2,000 random pairs of configurations under 200 listeners that check each byte, encoders and watchers (three minutes). */

import t from 'tap';
import { reloadPairs } from '../kit/reload-pairs.js';

t.setTimeout(900_000);

t.test('2,000 pairs: what the plan says is what happens, nobody else loses a byte', (t) =>
  reloadPairs(t, { pairs: 2000, listeners: 200, watchers: 60, drainEvery: 80 }),
);
