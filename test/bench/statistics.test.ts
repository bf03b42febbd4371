/** The small statistics of benchmarks. */

import t from 'tap';
import { median, percentiles, shares, spread } from '../../bench/statistics.js';

t.test('percentiles are values that were measured: nearest rank', async (t) => {
  const values = Array.from({ length: 1000 }, (_, index) => 1000 - index);
  t.strictSame(percentiles([...values, undefined]), {
    count: 1000,
    p50: 500,
    p90: 900,
    p99: 990,
    p999: 999,
    max: 1000,
  });
  t.strictSame(percentiles([7]), { count: 1, p50: 7, p90: 7, p99: 7, p999: 7, max: 7 });
  t.strictSame(percentiles([]), { count: 0, p50: 0, p90: 0, p99: 0, p999: 0, max: 0 });
  t.equal(percentiles([10, 9, 2]).max, 10, 'by number, not by text');
  t.match(shares(percentiles([7, 8])), [
    ['50', 7],
    ['90', 8],
    ['99', 8],
    ['99.9', 8],
    ['100', 8],
  ]);
});

t.test('the median, and a spread', async (t) => {
  t.equal(median([10, 9, 2]), 9);
  t.equal(median([4, 1]), 2.5);
  t.ok(Number.isNaN(median([])), 'nothing has none');
  t.strictSame(spread([3, 1, 2]), { all: 6, min: 1, median: 2, max: 3 });
});
