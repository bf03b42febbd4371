/** When a condition is an alert: after it has lasted, once, with an end; at the limits and one past them. */

import t from 'tap';
import { AlertBoard } from '../../src/alerts/alert-board.js';
import type { Condition } from '../../src/alerts/condition.js';

const DAMPING = { afterMs: 10_000, againMs: 300_000 };
const of = (subject: string): Condition => ({
  event: 'no-audio',
  subject,
  channel: subject,
  severity: 'critical',
  summary: `Channel ${subject} has no audio`,
  fields: {},
});

function board(damping = DAMPING) {
  let ids = 0;
  const all = new AlertBoard(() => String(++ids));
  return {
    all,
    at: (seconds: number, ...subjects: string[]) =>
      all
        .look(subjects.map(of), damping, seconds * 1000, 1e12 + seconds * 1000)
        .map(({ state, subject, sinceMs, flaps }) => [state, subject, (sinceMs - 1e12) / 1000, flaps]),
  };
}

t.test('one alert when it has lasted, one when it has been over for as long', async (t) => {
  const { all, at } = board();
  t.strictSame(at(0, 'a'), []);
  t.strictSame(at(9.9, 'a'), []);
  t.strictSame(at(10, 'a'), [['firing', 'a', 0, 0]]);
  t.strictSame(at(1000, 'a'), []);
  t.equal([...all.firing()].length, 1);
  t.strictSame(at(1001), []);
  t.strictSame(at(1010.9), []);
  t.strictSame(at(1011), [['resolved', 'a', 0, 0]]);
  t.equal([...all.firing()].length, 0);
});

t.test('what is shorter is none, however often', async (t) => {
  const { at } = board();
  for (let i = 0; i < 100; i++) t.strictSame([...at(20 * i, 'a'), ...at(20 * i + 9.9, 'a'), ...at(20 * i + 10)], []);
});

t.test('what comes and goes is sent once in againMs, with how often it began', async (t) => {
  const { at } = board();
  at(0, 'a');
  t.strictSame(at(10, 'a'), [['firing', 'a', 0, 0]]);
  at(20);
  t.strictSame(at(30), [['resolved', 'a', 0, 0]]);
  for (let s = 40; s < 260; s += 40) {
    t.strictSame([...at(s, 'a'), ...at(s + 15, 'a'), ...at(s + 20), ...at(s + 35)], [], `at ${s}`);
  }
  at(300, 'a');
  t.strictSame(at(309.9, 'a'), []);
  t.strictSame(at(310, 'a'), [['firing', 'a', 300, 7]]);
});

t.test('a short end of it is none', async (t) => {
  const { at } = board();
  at(0, 'a');
  at(10, 'a');
  t.strictSame([...at(20), ...at(29), ...at(29.5, 'a'), ...at(60, 'a')], []);
  t.strictSame([...at(61), ...at(71)], [['resolved', 'a', 0, 1]]);
});

t.test('conditions do not know of each other; without damping each is sent', async (t) => {
  const { at } = board({ afterMs: 0, againMs: 0 });
  t.strictSame(at(0, 'a', 'b'), [
    ['firing', 'a', 0, 0],
    ['firing', 'b', 0, 0],
  ]);
  t.strictSame(at(1, 'b'), [['resolved', 'a', 0, 0]]);
  t.strictSame(at(2, 'a', 'b'), [['firing', 'a', 2, 0]]);
});
