/** What a scenario found: collected, merged, printed and drawn. */

import t from 'tap';
import { plots } from '../../bench/plots.js';
import { Figures, merge, type Report } from '../../bench/result.js';
import { text } from '../../bench/table.js';

const ROW = {
  name: '1,000 listeners: CPU',
  unit: 'cores',
  digits: 3,
  plot: { name: 'cost', line: '', x: 1000 },
} as const;

function report(values: Record<string, number>, commit = 'abc'): Report {
  const figures = new Figures();
  for (const [target, value] of Object.entries(values)) figures.add(ROW, target, value);
  figures.checkedBytes = 2 ** 20;
  const machine = { cpu: 'A & B', cores: 2, memoryGiB: 4, kernel: '6', load: 0, commit, versions: { node: 'v1' } };
  return { date: '2026-01-02T03:04:05Z', machine, results: [figures.result('listeners', 'what a listener costs')] };
}

t.test('medians over the rounds, and the first target divided by each other', async (t) => {
  const merged = merge([
    report({ ours: 0.2, peer: 0.4 }),
    report({ ours: 0.1, peer: 0.6 }),
    report({ ours: 0.9, peer: 0.5 }),
  ]);
  t.strictSame(merged.results[0]!.rows[0]!.values, { ours: [0.2, 0.1, 0.9], peer: [0.4, 0.6, 0.5] });
  t.equal(merged.results[0]!.checkedBytes, 3 * 2 ** 20);
  const shown = text(merged, false);
  t.match(shown, /1,000 listeners: CPU, cores +0\.200 +0\.500\n {2}ours ÷ this +0\.40\n/);
  t.match(shown, '3.0 MiB received and checked; medians of 3 rounds');
  t.match(text(merged, true), '| 1,000 listeners: CPU, cores | 0.200 | 0.500 |\n| ours ÷ this |  | 0.40 |');
});

t.test('other rows and targets are added; another machine or commit is refused', async (t) => {
  const figures = new Figures();
  figures.add({ ...ROW, name: '4,000 listeners: CPU' }, 'third', 1);
  figures.faults.push('wrong', 'wrong');
  const other = { ...report({}), results: [figures.result('listeners', '')] };
  const [result] = merge([report({ ours: 1 }), other]).results;
  t.strictSame(result!.targets, ['ours', 'third']);
  t.equal(result!.rows.length, 2);
  t.strictSame(result!.faults, ['wrong']);
  t.match(text(merge([other]), false), 'FAULT: wrong');
  t.throws(() => merge([report({}), report({}, 'def')]), /reports differ in commit: def, abc/);
  t.throws(() => merge([]), RangeError);
});

t.test('a round that was skipped gives way to one that was not', async (t) => {
  const skipped = { ...report({}), results: [{ ...report({}).results[0]!, skipped: 'why' }] };
  t.equal(merge([skipped, report({ ours: 1 })]).results[0]!.skipped, undefined);
  t.equal(merge([report({ ours: 1 }), skipped]).results[0]!.skipped, undefined);
  t.match(text(merge([skipped, skipped]), false), 'skipped: why');
});

t.test('the same figure at two sizes is two rows', async (t) => {
  const figures = new Figures();
  for (const size of [1, 2]) figures.add({ name: 'memory', unit: `MiB (${size})`, digits: 0 }, 'ours', size);
  const [result] = merge([1, 2].map(() => ({ ...report({}), results: [figures.result('listeners', '')] }))).results;
  t.strictSame(
    result!.rows.map(({ values }) => values['ours']),
    [
      [1, 1],
      [2, 2],
    ],
  );
});

t.test('a figure that is none is left out', async (t) => {
  t.match(text(report({ ours: 1, other: Number.NaN }), false), /cores +1\.000 +-\n\n/);
});

t.test('plots of the rows that name one', async (t) => {
  const drawn = plots(report({ ours: 0.2, peer: 0.4 }));
  t.strictSame([...drawn.keys()], ['cost']);
  t.match(drawn.get('cost'), />ours<.*>peer</s);
  t.match(drawn.get('cost'), 'A &amp; B');
});
