/** Which change of the sound belongs to which title, and what counts as held. */

import t from 'tap';
import { compare, figuresOf, isHeld, numberChanges, numberInOrder } from '../../../bench/truth/figures.js';
import { titleOf } from '../../../bench/truth/tone-encoder.js';
import { schedule, TONES } from '../../../bench/truth/tones.js';

const entered = [0, ...schedule(0, 120, 10)];
const changes = (from: number, to: number, laterMs: number) =>
  entered.slice(from, to).map((ms, i) => ({ tone: (from + i) % TONES, at: 0, ms: ms + laterMs, afterSilence: false }));

t.test('a change is that of the last title with its tone', async (t) => {
  for (const laterMs of [0, 5000, 18_000]) {
    const heard = numberChanges(changes(1, 50, laterMs), entered);
    t.same(
      heard.map(({ number }) => number),
      Array.from({ length: 49 }, (_, i) => i + 1),
      `${laterMs} ms`,
    );
  }
  const silent = changes(1, 3, 100).map((each, i) => ({ ...each, afterSilence: i === 0 }));
  t.same(
    numberChanges(silent, entered).map(({ number }) => number),
    [2],
    'the first sound is not a change',
  );
});

t.test('changes without a moment are known by their intervals', async (t) => {
  for (const from of [1, 13, 25, 30])
    t.same(
      numberInOrder(changes(from, from + 12, -12_345), entered).map(({ number }) => number),
      Array.from({ length: 12 }, (_, i) => from + i),
      `from ${from}`,
    );
  t.same(numberInOrder([], entered), []);
});

t.test('what was never displayed is missing; what was disturbed does not count', async (t) => {
  const heard = numberChanges(changes(1, 6, 1000), entered);
  const displayed = heard
    .filter(({ number }) => number !== 3)
    .map(({ number, ms }) => ({ song: titleOf(0, number), ms: ms + number }));
  const again = [...displayed.slice(0, 2), ...displayed];
  const { mistakes, missing, repeated } = compare(again, heard, new Set([2]));
  t.equal(missing, 1);
  t.equal(repeated, 2);
  t.same(
    mistakes.map(({ number, errorMs }) => [number, errorMs]),
    [1, 4, 5].map((number) => [number, number]),
  );
});

t.test('the median of errors, the 95th percentile of their sizes', async (t) => {
  const figures = figuresOf([...Array(18).fill(-10), 40, 300]);
  t.same(figures, { count: 20, medianMs: -10, p95Ms: 40 });
  t.ok(isHeld(figures, { medianMs: 10, p95Ms: 40 }));
  t.notOk(isHeld(figures, { medianMs: 9, p95Ms: 40 }));
  t.notOk(isHeld(figures, { medianMs: 10, p95Ms: 39 }));
  t.notOk(isHeld(figuresOf([]), { medianMs: 10, p95Ms: 39 }), 'nothing was measured');
});
