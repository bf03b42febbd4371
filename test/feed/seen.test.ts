/** What a reader names when it resumes: as much as there can be, one step past it, and what a head full of steps costs. */

import t from 'tap';
import { MAX_STEPS, orderName, Seen } from '../../src/feed/seen.js';
import { costRatio } from '../kit/cost.js';

const ORDER = orderName(['one', 'two']);
/** As long as a head may be (limits.httpHeadBytes). */
const LONG = 32_000;

/** So many steps: up to place 0 all is seen up to 9, up to place 1 up to 8 and so on; else up to 5. */
function idOf(steps: number): string {
  return `${Array.from({ length: steps }, (_, place) => `${place === 0 ? 9 : 8}.${place.toString(36)},`).join('')}5@${ORDER}`;
}

t.test('as many steps as there may be, and one more', async (t) => {
  const seen = Seen.read(idOf(MAX_STEPS), ORDER);
  t.same(
    [seen.has(0, 9), seen.has(1, 9), seen.has(MAX_STEPS - 1, 8), seen.has(MAX_STEPS, 8)],
    [true, false, true, false],
  );
  t.equal(seen.has(MAX_STEPS, 5), true);
  t.equal(
    Seen.read(idOf(MAX_STEPS), orderName(['two', 'one'])).has(0, 6),
    false,
    'of another order the last part alone',
  );
  for (const place of [0, MAX_STEPS, MAX_STEPS + 1])
    t.equal(Seen.read(idOf(MAX_STEPS + 1), ORDER).has(place, 1), false);
});

t.test('a head full of steps costs at most ten times as much as to cut it into characters', async (t) => {
  const id = `${'0.0,'.repeat(LONG / 4)}5@${ORDER}`;
  const read = () => {
    const seen = Seen.read(id, ORDER);
    for (let place = 0; place < 2000; place++) seen.has(place, 1);
  };
  // Without a limit it is several hundred times.
  const ratio = await costRatio(10, read, () => id.split(''));
  t.ok(ratio < 10, `${ratio} times`);
});
