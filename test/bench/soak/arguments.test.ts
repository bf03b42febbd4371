/** The soak's arguments: defaults, bounds, and what is refused. */

import t from 'tap';
import { readArguments } from '../../../bench/soak/arguments.js';

t.test('defaults, and all of them set', async (t) => {
  const none = { save: undefined, out: undefined, from: undefined, isMarkdown: false };
  const usual = { minutes: 120, workers: 2, listeners: 200, joinsPerSecond: 2, everySeconds: 15 };
  t.same(readArguments([]), { ...usual, ...none });
  const args = '--minutes 0.5 --workers 0 --listeners 20 --joins 0.5 --every 6 --save a.b --out x --from y --markdown';
  t.same(readArguments(args.split(' ')), {
    minutes: 0.5,
    workers: 0,
    listeners: 20,
    joinsPerSecond: 0.5,
    everySeconds: 6,
    save: 'a.b',
    out: 'x',
    from: 'y',
    isMarkdown: true,
  });
  t.equal(readArguments(['--help']), 'help');
});

t.test('what is refused', async (t) => {
  for (const wrong of [
    ['--minutes', '0.05'],
    ['--minutes', '1441'],
    ['--minutes', 'x'],
    ['--workers', '17'],
    ['--workers', '1.5'],
    ['--listeners', '0'],
    ['--listeners', '10001'],
    ['--joins', '201'],
    ['--every', '5'],
    ['--every', ''],
    ['--save', '../x'],
  ])
    t.throws(() => readArguments(wrong), RangeError, wrong.join(' '));
  t.throws(() => readArguments(['--nothing']), TypeError);
});
