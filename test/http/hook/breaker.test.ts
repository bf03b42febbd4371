/** The circuit breaker, state by state. With a real operator behind it: hook.test.ts. */

import t from 'tap';
import { Breaker, ORDINARY } from '../../../src/http/hook/breaker.js';
import { FakeClock } from '../../kit/clock.js';

const PAUSE_MS = 1000;
/** The clock of the tests moves by whole ticks. */
const ALMOST_MS = 960;

function setUp(after = 2) {
  const clock = new FakeClock();
  return { clock, breaker: new Breaker(clock, after, PAUSE_MS) };
}

t.test('it opens after failures in a row, and says so once', async (t) => {
  const { breaker } = setUp();
  t.equal(breaker.admit(), ORDINARY);
  t.equal(breaker.failed(ORDINARY), false);
  t.equal(breaker.answered(), false, 'it was closed');
  t.equal(breaker.failed(ORDINARY), false, 'in a row');
  t.equal(breaker.isOpen, false);
  t.equal(breaker.failed(ORDINARY), true);
  t.equal(breaker.isOpen, true);
  t.equal(breaker.failed(ORDINARY), false, 'once');
  t.equal(breaker.admit(), null);
});

t.test('after the pause one call is a trial; its failure is another pause', async (t) => {
  const { clock, breaker } = setUp(1);
  breaker.failed(ORDINARY);
  clock.advance(ALMOST_MS);
  t.equal(breaker.admit(), null);
  clock.advance(PAUSE_MS - ALMOST_MS);
  const first = breaker.admit()!;
  t.not(first, ORDINARY);
  t.equal(breaker.admit(), null, 'one alone');
  t.equal(breaker.failed(first), false, 'it was open');
  clock.advance(ALMOST_MS);
  t.equal(breaker.admit(), null);
  clock.advance(PAUSE_MS - ALMOST_MS);
  t.not(breaker.admit(), first);
});

t.test('a call from before the pause neither ends a trial nor makes the pause longer', async (t) => {
  const { clock, breaker } = setUp(1);
  breaker.failed(ORDINARY);
  clock.advance(ALMOST_MS);
  t.equal(breaker.failed(ORDINARY), false);
  clock.advance(PAUSE_MS - ALMOST_MS);
  const first = breaker.admit()!;
  breaker.failed(first);
  clock.advance(PAUSE_MS);
  const second = breaker.admit()!;
  t.equal(breaker.failed(ORDINARY), false);
  t.equal(breaker.failed(first), false);
  clock.advance(PAUSE_MS);
  t.equal(breaker.admit(), null, 'the trial goes on');
  breaker.failed(second);
  t.equal(breaker.admit(), null, 'its failure counts');
});

t.test('an answer closes it, and forgets the failures', async (t) => {
  const { clock, breaker } = setUp();
  breaker.failed(ORDINARY);
  breaker.failed(ORDINARY);
  clock.advance(PAUSE_MS);
  t.not(breaker.admit(), null);
  t.equal(breaker.answered(), true);
  t.equal(breaker.answered(), false, 'once');
  t.equal(breaker.admit(), ORDINARY);
  t.equal(breaker.admit(), ORDINARY);
  t.equal(breaker.failed(ORDINARY), false);
});
