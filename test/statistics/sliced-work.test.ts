/** Work over many rows: the same result as in one piece, and the event loop comes round meanwhile. */

import t from 'tap';
import type { PlayedTitle } from '../../src/statistics/plays.js';
import { StatisticsReader, type Subject } from '../../src/statistics/queries.js';
import { useCsv } from '../../src/statistics/reports.js';
import { eachInSteps, sortedInSteps } from '../../src/statistics/sliced-work.js';
import type { HistoryStore } from '../../src/store/store.js';

/** What `work` resolves with, and the turns that others had while it went on. */
async function besides<T>(work: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let [turns, isDone] = [0, false];
  const count = () => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const result = await work();
  isDone = true;
  return { result, turns };
}

t.test('rows are in order, equal ones as they were, whatever their number', async (t) => {
  for (const count of [0, 1, 2, 499, 500, 501, 1000, 1001, 12_345]) {
    const rows = Array.from({ length: count }, (_, i) => ({ key: (i * 7919) % 97, i }));
    const compare = (a: { key: number }, b: { key: number }) => a.key - b.key;
    const { result, turns } = await besides(() => sortedInSteps(rows, compare));
    t.same(result, rows.toSorted(compare), `${count}`);
    t.ok(turns >= count / 500 - 1, `${turns} turns for ${count}`);
  }
});

t.test('each row once, and a turn for others after each step', async (t) => {
  let sum = 0;
  const { turns } = await besides(() =>
    eachInSteps(
      Array.from({ length: 10_000 }, () => 1),
      (row) => void (sum += row),
    ),
  );
  t.equal(sum, 10_000);
  t.ok(turns >= 19, `${turns}`);
});

t.test('50,000 recordings are put together and ordered while others have their turns', async (t) => {
  const play = (i: number): PlayedTitle =>
    ({ song: `Song ${(i * 7919) % 50_000}`, artist: 'Ann', album: '', isrc: '', performances: 1 }) as PlayedTitle;
  const store: Pick<HistoryStore, 'figures'> = {
    figures: (_kind, _scope, { fromMs, limit }) =>
      Array.from({ length: Math.min(limit, 50_000 - fromMs) }, (_, i) => {
        return { atMs: fromMs + i, text: JSON.stringify(play(fromMs + i)) };
      }),
  };
  const reader = new StatisticsReader(store, () => 50_000);
  const span = { fromMs: 0, beforeMs: 50_000 };
  const subject: Subject = { kind: 'channel', key: 'jazz', timezone: 'UTC', name: 'House', channels: ['jazz'] };
  const { result, turns } = await besides(async () => useCsv(await reader.recordings(['jazz'], span), subject, 'B'));
  const lines = result.toString().trimEnd().split('\r\n').slice(1);
  t.equal(lines.length, 50_000);
  t.same(lines, lines.toSorted(), 'in order');
  // 250 steps to read and put together, 250 to render, 100 to take, 100 to sort, 7 × 100 to merge.
  t.ok(turns > 900, `${turns} turns`);
});
