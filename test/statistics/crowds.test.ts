/** How many values are counted apart, and which ones: those with the most listening, however many others are made up. */

import t from 'tap';
import { CANDIDATES, Crowds } from '../../src/statistics/crowds.js';
import { OTHER } from '../../src/statistics/figures.js';

const ROWS = 4;
const MOST = ROWS * CANDIDATES;

/** A connection that came and went. */
function visit(crowds: Crowds, value: string, atMs: number, lastedMs: number): void {
  const crowd = crowds.of(value, ROWS, atMs);
  crowd.join(atMs);
  crowd.leave(atMs + lastedMs, lastedMs);
}

t.test('values that strangers make up push none out that has more listening', async (t) => {
  const crowds = new Crowds();
  for (let i = 0; i < ROWS; i++) visit(crowds, `real ${i}`, 0, 10_000);
  for (let i = 0; i < 1000; i++) {
    visit(crowds, `made up ${i}`, 20_000 + i, 1);
    if (crowds.size > MOST) t.fail(`${crowds.size} values`);
  }
  const taken = crowds.take(ROWS, 1, 30_000);
  t.same(taken.map(([value]) => value).sort(), [OTHER, 'real 0', 'real 1', 'real 2', 'real 3'].sort());
  t.equal(
    taken.reduce((sum, [, { begun }]) => sum + begun, 0),
    ROWS + 1000,
    'each is counted once',
  );
});

t.test('at the limit all have a place, one past it some share one', async (t) => {
  const crowds = new Crowds();
  for (let i = 0; i < MOST; i++) visit(crowds, `${i}`, i, 1 + i);
  t.equal(crowds.size, MOST);
  visit(crowds, 'one more', 1000, 1);
  t.ok(crowds.size <= MOST, `${crowds.size}`);
  const values = crowds.take(MOST, 1, 2000).map(([value]) => value);
  t.ok(values.includes('one more') && values.includes(`${MOST - 1}`) && !values.includes('0'), `${values}`);
});

t.test('values with a connection stay, and what they cost grows with their number', async (t) => {
  const crowds = new Crowds();
  let looks = 0;
  for (let i = 0; i < 20_000; i++) {
    const crowd = crowds.of(`${i}`, ROWS, i);
    crowd.join(i);
    Object.defineProperty(crowd, 'count', { get: () => ++looks && 1 });
  }
  t.equal(crowds.size, 20_000);
  t.ok(looks < 20 * 20_000, `${looks} looks for room`);
});
