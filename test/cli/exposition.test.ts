/** Metrics of any server: lines that are not metrics are ignored, and a hostile one takes no longer than another of its length. */

import t from 'tap';
import { readSamples } from '../../src/cli/exposition.js';
import { growsLinearly } from '../kit/growth.js';

t.test('samples, with their labels', async (t) => {
  const samples = readSamples('# HELP a b\na{x="1",_y="q\\"\\n"} 2\na +Inf\nnothing\n');
  t.match(samples.get('a'), [
    { labels: { x: '1', _y: 'q"\n' }, value: 2 },
    { labels: {}, value: Number.POSITIVE_INFINITY },
  ]);
  t.equal(samples.size, 1);
});

t.test('what lines of any form take grows with their length', async (t) => {
  const forms: Readonly<Record<string, (size: number) => string>> = {
    'a long name of a label': (size) => `x{${'a'.repeat(size)}} 1`,
    'a label that is not closed': (size) => `x{${'a="\\"'.repeat(size)}} 1`,
    'closing braces': (size) => `x{${'}'.repeat(size)}`,
  };
  for (const [name, make] of Object.entries(forms)) await growsLinearly(t, name, 8000, make, readSamples);
});
