/** Where the tape ended at a moment, and when it ended there, against a list that is searched from its end. */

import t from 'tap';
import { Arrivals } from '../../../src/audio/frames/arrivals.js';
import { Random } from '../../kit/random.js';

t.test('the end of the tape at any moment that is kept', async (t) => {
  const random = new Random();
  const keepMs = 5000;
  const arrivals = new Arrivals(keepMs);
  const all: [momentMs: number, endMs: number][] = [];
  let [nowMs, endMs] = [1000, 0];
  for (let i = 0; i < 3000; i++) {
    nowMs += random.chance(0.6) ? 0 : random.int(1, 40);
    endMs += random.int(1, 30);
    arrivals.note(nowMs, endMs);
    all.push([nowMs, endMs]);
    if (i % 10 > 0) continue;
    const momentMs = nowMs - random.int(0, keepMs);
    const [, expected] = all.findLast(([each]) => each <= Math.max(momentMs, all[0]![0]))!;
    t.equal(arrivals.endAt(momentMs), expected, `seed ${random.seed}, ${nowMs - momentMs} ms ago`);
    const atMs = random.int(expected, endMs);
    const [cameMs] = all.find(([, each]) => each >= atMs)!;
    t.equal(arrivals.momentOf(atMs), cameMs, `seed ${random.seed}, audio time ${atMs}`);
  }
  const [, oldest] = all.findLast(([each]) => each <= nowMs - keepMs)!;
  t.equal(arrivals.endAt(0), oldest, 'of what is older, the oldest that is kept');
  t.equal(arrivals.momentOf(endMs + 1), Number.POSITIVE_INFINITY, 'it has not come in');
});

t.test('what comes within a millisecond of its first came with it, at the limit and past it', async (t) => {
  const arrivals = new Arrivals(5000);
  const notes = [
    [100, 10],
    [100.5, 20],
    [100.9, 30],
    [101, 40],
    [101.9, 50],
  ] as const;
  for (const [nowMs, endMs] of notes) arrivals.note(nowMs, endMs);
  t.strictSame(
    [100, 100.9, 101, 200].map((momentMs) => arrivals.endAt(momentMs)),
    [30, 30, 50, 50],
  );
  t.strictSame(
    [30, 31, 50].map((endMs) => arrivals.momentOf(endMs)),
    [100, 101, 101],
  );
});
