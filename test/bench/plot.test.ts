/** The plots: points stand where they belong, on linear and logarithmic axes, and names do not cover each other. */

import t from 'tap';
import { apart, plot, roundStep } from '../../bench/plot.js';

const PLAN = { title: 'A <b>', subtitle: 'c & d', x: 'listeners', y: 'cores' };

function circles(svg: string): [number, number][] {
  return [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map(([, x, y]) => [Number(x), Number(y)]);
}

t.test('points rise with their values', async (t) => {
  const points: [number, number][] = [
    [1000, 0],
    [4000, 0.01],
    [16_000, 0.02],
  ];
  const svg = plot({ ...PLAN, hasLogX: true, series: [{ name: 'ours & theirs', points }] });
  const [one, two, three] = circles(svg);
  t.ok(Math.abs(two![0] - one![0] - (three![0] - two![0])) < 0.3, 'four times is four times on a logarithmic axis');
  t.ok(Math.abs(one![1] - two![1] - (two![1] - three![1])) < 0.3);
  t.ok(one![1] > three![1], 'up is more');
  t.match(svg, 'A &lt;b>');
  t.match(svg, 'ours &amp; theirs');
  t.match(svg, 'prefers-color-scheme: dark');
  t.notMatch(svg, /NaN|Infinity|undefined/);
});

t.test('names as an axis, decades as the other', async (t) => {
  const series = [
    {
      name: 'a',
      points: [
        ['50', 0.1],
        ['99', 10],
      ] as const,
    },
    {
      name: 'b',
      points: [
        ['50', 0],
        ['99', 1],
      ] as const,
    },
  ];
  const svg = plot({ ...PLAN, hasLogY: true, series });
  const [a50, a99, b50, b99] = circles(svg);
  t.equal(a50![0], b50![0]);
  t.equal(a50![1], b50![1], 'what is below the axis stands on it');
  t.ok(Math.abs(b99![1] - (a50![1] + a99![1]) / 2) < 0.3);
  t.notMatch(svg, /NaN|Infinity|undefined/);
});

t.test('one point, one value, and none', async (t) => {
  for (const value of [0, 1e-6, 5000]) {
    const svg = plot({ ...PLAN, hasLogX: true, series: [{ name: 'a', points: [[10, value]] }] });
    t.equal(circles(svg).length, 1);
    t.notMatch(svg, /NaN|Infinity|undefined/);
  }
  t.throws(() => plot({ ...PLAN, series: [{ name: 'a', points: [] }] }), RangeError);
});

t.test('names stay apart and in order, and within the plot', async (t) => {
  const placed = apart([100, 101, 99, 364, 363]);
  const sorted = [...placed].sort((a, b) => a - b);
  for (const [index, place] of sorted.slice(1).entries()) t.ok(place - sorted[index]! >= 16, String(place));
  t.ok(placed[2]! < placed[0]! && placed[0]! < placed[1]!);
  t.ok(sorted.at(-1)! <= 364);
});

t.test('ticks are round', async (t) => {
  t.strictSame([0.003, 0.02, 0.3, 1, 6, 0].map(roundStep), [0.005, 0.02, 0.5, 1, 10, 1]);
});
