/**
 * What the sources hold: how long files, functions and comments are, how many files a room has, how many fields a class. What is over a bound today stands
 * in sizes.json with what it has; such an exception may shrink, and goes when it is within the bound. The lines of each room stand there too: a commit
 * that makes a room larger changes them on purpose. Part of `npm run check`.
 */

import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { type Counted, count, countAll, filesByRoom, linesByRoom } from './kit/sizes.js';

const MAX_FILES = 26;
const MAX_LINES = 300;
const MAX_FUNCTION_LINES = 80;
const MAX_FIELDS = 20;
const MAX_PARAMETERS = 7;
const MAX_COMMENT_CHARACTERS = 150;
const MAX_MEMBER_COMMENT_LINES = 2;
/** By so many lines a room may grow or shrink before its entry in sizes.json is changed. */
const ROOM_SLACK_LINES = 100;

interface Sizes {
  readonly files: Readonly<Record<string, number>>;
  readonly lines: Readonly<Record<string, number>>;
  readonly functions: Readonly<Record<string, number>>;
  readonly fields: Readonly<Record<string, number>>;
  readonly parameters: Readonly<Record<string, number>>;
  readonly comments: Readonly<Record<string, number>>;
  readonly packedSpreads: Readonly<Record<string, number>>;
  readonly rooms: Readonly<Record<string, number>>;
}

const sizes: Sizes = JSON.parse(readFileSync(new URL('sizes.json', import.meta.url), 'utf8'));
const sources = countAll(['src', 'bench', 'test/kit']);
const own = sources.filter(({ file }) => file.startsWith('src/'));

/** Nothing is over the bound but the exceptions, which have exactly what they have. */
function hold(
  t: Test,
  what: string,
  found: Iterable<readonly [string, number]>,
  bound: number,
  exceptions: Sizes['files'],
): void {
  const over = Object.fromEntries([...found].filter(([, value]) => value > bound).sort());
  t.strictSame(over, exceptions, `${what}: ${bound} at most, but for those in test/sizes.json`);
}

const of = (read: (counted: Counted) => number) => sources.map((counted) => [counted.file, read(counted)] as const);
const within = (read: (counted: Counted) => ReadonlyMap<string, number>) =>
  sources.flatMap((counted) => [...read(counted)].map(([name, value]) => [`${counted.file} ${name}`, value] as const));

t.test('rooms', async (t) => {
  hold(t, 'files of a folder', filesByRoom(own), MAX_FILES, sizes.files);
  const rooms = linesByRoom(own);
  t.same(Object.keys(rooms).sort(), Object.keys(sizes.rooms), 'each room has its lines in test/sizes.json');
  for (const [room, lines] of Object.entries(rooms)) {
    const known = sizes.rooms[room] ?? 0;
    t.ok(Math.abs(lines - known) <= ROOM_SLACK_LINES, `${room} has ${lines} lines, test/sizes.json says ${known}`);
  }
});

t.test('files, functions, classes, comments', async (t) => {
  hold(
    t,
    'lines of a file',
    of(({ lines }) => lines),
    MAX_LINES,
    sizes.lines,
  );
  hold(
    t,
    'lines of a function',
    within(({ functionLines }) => functionLines),
    MAX_FUNCTION_LINES,
    sizes.functions,
  );
  hold(
    t,
    'fields of a class',
    within(({ classFields }) => classFields),
    MAX_FIELDS,
    sizes.fields,
  );
  hold(
    t,
    'positional parameters',
    within(({ parameters }) => parameters),
    MAX_PARAMETERS,
    sizes.parameters,
  );
  hold(
    t,
    'characters of a comment',
    of(({ longestComment }) => longestComment),
    MAX_COMMENT_CHARACTERS,
    sizes.comments,
  );
  hold(
    t,
    'lines of a comment above a member',
    of(({ memberComment }) => memberComment),
    MAX_MEMBER_COMMENT_LINES,
    {},
  );
  hold(
    t,
    '...{ in object literals',
    of(({ packedSpreads }) => packedSpreads),
    0,
    sizes.packedSpreads,
  );
});

t.test('what is counted', async (t) => {
  const text = `/** ${'x'.repeat(160)} */
class A {
  /**
   * One,
   * two,
   *
   * three.
   */
  #a = 1;
  static b = 2;
  readonly c;
  constructor(a, b, c) {
    const d = { ...{ a, b }, ...c };
    const run = () => {
      return 1;
    };
  }
}
`;
  const { lines, longestComment, memberComment, packedSpreads, functionLines, classFields, parameters } = count(
    'a.ts',
    text,
  );
  t.same(
    { lines, longestComment, memberComment, packedSpreads },
    { lines: 18, longestComment: 167, memberComment: 3, packedSpreads: 1 },
  );
  t.same(
    [...functionLines],
    [
      ['A.constructor', 6],
      ['A.constructor.run', 3],
    ],
  );
  t.same([...classFields], [['A', 2]]);
  t.equal(parameters.get('A.constructor'), 3);
});
