/** Each test file is in a tier, and three commits in a row run all files. */

import { readdirSync } from 'node:fs';
import t from 'tap';
import { touchedBy } from './rotation.mjs';
import { atEachChange, everything, short, type Tier } from './tiers.mjs';

const ALL = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`);

/** The runs of three commits in a row without changes. */
function parts(t: { teardown(end: () => void): void }): Tier[] {
  const { TEST_PART, TEST_BASE } = process.env;
  t.teardown(() => {
    restore('TEST_PART', TEST_PART);
    restore('TEST_BASE', TEST_BASE);
  });
  process.env['TEST_BASE'] = 'HEAD';
  return [0, 1, 2].map((part) => {
    process.env['TEST_PART'] = String(part);
    return atEachChange();
  });
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

/** A file with the environment of its run, without the minutes. */
const runsOf = ({ legs }: Tier) =>
  legs.flatMap(({ files, env = {} }) =>
    files.map((file) => `${file} ${JSON.stringify({ ...env, MINUTES: undefined })}`),
  );

/** A file with the machines of its run. */
const formsOf = (legs: Tier['legs']) =>
  legs.flatMap(({ files, env }) => files.map((file) => `${file} ${env?.['TEST_NODES'] ?? env?.['TEST_WORKERS']}`));

t.test('npm test and each change together leave out nothing that all of them would run', async (t) => {
  const three = parts(t);
  for (const file of ALL) {
    t.ok(
      three.some(({ legs }) => legs.some(({ files }) => files.includes(file))),
      `${file} runs within three commits`,
    );
  }
  const run = new Set(three.flatMap(runsOf));
  for (const one of runsOf(everything())) if (!run.has(one)) t.match(one, /\{"LONG":"1"\}$/, `${one} in three commits`);
  t.strictSame([...new Set(runsOf(everything()))].length, runsOf(everything()).length, 'nothing runs twice');
});

t.test('no run has a file in both forms, nor twice', async (t) => {
  for (const tier of [short(), everything(), ...parts(t)]) {
    const forms = formsOf(tier.legs);
    t.equal(new Set(forms).size, forms.length);
  }
});

t.test('what a run leaves out is what the other parts have', async (t) => {
  const three = parts(t);
  for (const { legs, leftOut } of three) {
    t.ok(leftOut.length > 20);
    for (const name of leftOut) {
      const [list, file] = name.split(' ');
      if (list === 'nodes' || list === 'workers') continue;
      const long = legs.filter(({ env }) => env?.['LONG'] !== undefined).flatMap(({ files }) => files);
      t.notOk(long.includes(`test/${file}.test.ts`), name);
    }
  }
});

t.test('a change brings what it touches', async (t) => {
  const names = [
    'programs e2e/log',
    'nodes behaviour/tls',
    'programs e2e/darkice',
    'alone long/truth',
    'programs e2e/backup',
  ];
  t.strictSame(touchedBy(names, ['README.md']), { own: [], about: [] });
  t.strictSame(touchedBy(names, ['src/link/wire/wire.ts']).about, ['nodes behaviour/tls']);
  const long = ['programs link/tapes/tape-returns', 'programs net/front/front'];
  t.strictSame(touchedBy(long, ['src/link/wire/wire.ts']).about, ['programs link/tapes/tape-returns']);
  t.strictSame(touchedBy(long, ['src/net/front/front.ts']), { own: ['programs net/front/front'], about: [] });
  t.strictSame(touchedBy(names, ['src/audio/mp3.ts', 'src/store/lmdb.ts']), {
    own: [],
    about: ['programs e2e/darkice', 'programs e2e/backup'],
  });
  t.strictSame(touchedBy(names, ['test/long/truth.test.ts']).own, ['alone long/truth']);
  const ofRooms = ['programs directories/directories', 'programs kit/legs'];
  t.strictSame(touchedBy(ofRooms, ['src/directories/listing.ts']).own, ['programs directories/directories']);
  t.strictSame(touchedBy(ofRooms, ['test/kit/pool.mjs']).own, ['programs kit/legs']);
  t.strictSame(touchedBy(ofRooms, ['src/hls/window.ts']), { own: [], about: [] });
});

t.test('what is about a change is extra where it has no short form; its own tests are not', async (t) => {
  const untouched = parts(t).at(-1);
  const changed = ['src/audio/mp3.ts', 'src/store/lmdb.ts', 'src/link/wire/wire.ts', 'src/net/front/front.ts'];
  const { legs } = atEachChange(changed);
  const extra = legs.flatMap(({ extra = [] }) => extra);
  t.ok(extra.includes('test/e2e/backup.test.ts'));
  t.notOk(extra.includes('test/net/front/front.test.ts'), 'of a room that changed');
  t.notOk(extra.includes('test/e2e/store.test.ts'), 'its short form runs with each change');
  const forms = formsOf(legs);
  t.strictSame(
    formsOf(untouched?.legs ?? []).filter((form) => !forms.includes(form)),
    [],
    'what runs in any case does so',
  );
  t.equal(new Set(forms).size, forms.length, 'none in both forms');
});
