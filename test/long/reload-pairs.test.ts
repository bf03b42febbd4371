/**
 * A reload by seed: what the plan says is what happens, under 200 checked listeners, watchers, encoders and pushes (test/kit/reload-pairs.ts). CI plays the same 500
 * pairs each time, test/behaviour/reload-pairs.test.ts 30 others; PAIRS=2000 is the whole of it, with any seed: four minutes on a machine at rest.
 */

import t from 'tap';
import { Random } from '../kit/random.js';
import { reloadPairs } from '../kit/reload-pairs.js';

const { PAIRS, SEED } = process.env;
const CI_SEED = 1_806_642_300;
const pairs = Number(PAIRS ?? 500);

t.setTimeout(1_800_000);

t.test(`${pairs} pairs: what the plan says is what happens, nobody else loses a byte`, (t) => {
  const random = PAIRS === undefined && SEED === undefined ? new Random(CI_SEED) : new Random();
  return reloadPairs(t, { pairs, listeners: 200, watchers: 60, drainEvery: 80 }, random);
});
