/** The arguments of `npm run bench`: defaults, lists, and what is refused in words. */

import t from 'tap';
import { readArguments } from '../../bench/arguments.js';

const NAMES = ['listeners', 'joins'];
const read = (...args: string[]) => readArguments(args, NAMES);

t.test('without arguments all is measured, three times', async (t) => {
  t.strictSame(read(), {
    only: undefined,
    isQuick: false,
    rounds: 3,
    seconds: undefined,
    listeners: undefined,
    nodes: [],
    url: undefined,
    against: undefined,
    save: 'last',
    out: undefined,
    from: undefined,
    isMarkdown: false,
  });
});

t.test('lists, numbers and words', async (t) => {
  t.match(read('--only', 'joins, listeners', '--quick', '--listeners', '10,20', '--node', 'a,/b'), {
    only: ['joins', 'listeners'],
    rounds: 1,
    listeners: [10, 20],
    nodes: ['a', '/b'],
  });
  t.match(read('--quick', '--rounds', '20', '--seconds', '600'), { rounds: 20, seconds: 600 });
  t.match(read('--against', 'none'), { against: [] });
  t.match(read('--against', 'c-floor,http://127.0.0.1:9/x'), { against: ['c-floor', 'http://127.0.0.1:9/x'] });
  t.equal(read('--help', '--only', 'joins'), 'help');
  t.equal(read('--list'), 'list');
});

t.test('what is wrong is named', async (t) => {
  const wrong: [string[], RegExp][] = [
    [['--only', 'nothing'], /nothing is none of listeners, joins/],
    [['--only', 'joins,'], /empty entry/],
    [['--rounds', '0'], /--rounds is a number from 1 to 20/],
    [['--rounds', '21'], /--rounds/],
    [['--seconds', '601'], /--seconds/],
    [['--listeners', '1,x'], /--listeners/],
    [['--listeners', '100001'], /--listeners/],
    [['--url', 'http://192.0.2.1/'], /only http:\/\/ and loopback addresses/],
    [['--against', 'https://127.0.0.1/'], /loopback/],
    [['--against', 'apache'], /apache is none of icecast/],
    [['--save', '../x'], /plain file name/],
    [['--what'], /--what/],
  ];
  for (const [args, message] of wrong) t.throws(() => read(...args), { message }, args.join(' '));
});
