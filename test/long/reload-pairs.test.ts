/**
 * A reload by seed: what the plan says is what happens, under 200 checked listeners, watchers, encoders and pushes (test/kit/reload-pairs.ts). PAIRS=2000 is the whole
 * of it, four minutes on a machine at rest. The short form is test/behaviour/reload-pairs.test.ts.
 */

import t from 'tap';
import { reloadPairs } from '../kit/reload-pairs.js';

const PAIRS = Number(process.env['PAIRS'] ?? 500);

t.setTimeout(1_800_000);

t.test(`${PAIRS} pairs: what the plan says is what happens, nobody else loses a byte`, (t) =>
  reloadPairs(t, { pairs: PAIRS, listeners: 200, watchers: 60, drainEvery: 80 }),
);
