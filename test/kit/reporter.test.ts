/** What `npm test` prints of files that pass, fail, skip, say nothing at all, or pass at the second try; run as tap runs it. */

import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { tempFolder } from './server.js';

const ROOT = new URL('../../', import.meta.url).pathname;
const TAP = join(ROOT, 'node_modules/.bin/tap');
const TYPESCRIPT = join(ROOT, 'test/kit/typescript.mjs');
const RUNS = join(ROOT, 'test/kit/tap-runs.mjs');
/** As run.mjs runs them: what fails once more. */
const IN_TURN = `import { inTurn } from '${RUNS}'; process.exitCode = inTurn([[process.argv.slice(1), {}]]) ? 0 : 1;`;

/** @returns the lines that the reporter prints for these files, and tap's exit code */
async function reported(
  t: Test,
  files: Record<string, string>,
  [program, ...before]: readonly [string, ...string[]] = [TAP, '--reporter', join(ROOT, 'test/kit/reporter.mjs')],
): Promise<{ lines: string[]; code: number }> {
  const folder = tempFolder(t);
  const paths = Object.entries(files).map(([name, text]) => {
    const path = join(folder, `${name}.test.mjs`);
    writeFileSync(path, `import t from ${JSON.stringify(import.meta.resolve('tap'))};\n${text}`);
    return path;
  });
  // A folder of its own, as tap keeps there what it keeps of a run; with the plugins of ours, for which tap is built.
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(
    join(folder, '.taprc'),
    `plugin: ['!@tapjs/typescript']\nnode-arg: ['--import=${TYPESCRIPT}']\ndisable-coverage: true\n`,
  );
  const args = [...before, ...paths];
  // A run of its own, not a part of this one.
  const own = Object.entries(process.env).filter(([name]) => !/^(?:TAP|TEST_TOTALS|_TAPJS|RUN_SEED)/.test(name));
  return await new Promise((done) => {
    execFile(program, args, { cwd: folder, env: { ...Object.fromEntries(own), NODE_OPTIONS: '' } }, (error, stdout) => {
      const lines = stdout.split('\n').filter((line) => line !== '');
      done({
        lines: lines.map((line) => line.replace(/(?:\S*\/)?(\w+)\.test\.mjs/, '$1')),
        code: Number(error?.code ?? 0),
      });
    });
  });
}

const SKIPS = `
t.test('by an option', { skip: 'no program' }, async (t) => t.pass());
t.test('by an option, buffered', { buffered: true, skip: 'no network' }, async (t) => t.pass());
t.test('without a reason', { skip: true }, async (t) => t.pass());
t.test('by a plan', (t) => t.plan(0, 'no /proc'));
t.test('by a plan, in words', async (t) => t.plan(0));
t.test('by a return', async () => {});
t.test('by a return, buffered', { buffered: true }, async () => {});
t.test('one assertion', async (t) => { t.pass('of two', { skip: 'no IPv6' }); t.pass('the other'); });
t.test('further in', async (t) => { t.test('nothing', async () => {}); t.test('something', async (t) => t.pass()); });
t.test('to do', { todo: 'later' }, async (t) => t.fail());
`;

t.jobs = 2;

t.test('every skip is named and counted', { buffered: true }, async (t) => {
  const { lines, code } = await reported(t, { skips: SKIPS, whole: `t.plan(0, 'no root');`, silent: '' });
  t.strictSame(
    lines.filter((line) => line.startsWith('skipped: ')).sort(),
    [
      'skips > by an option (no program)',
      'skips > by an option, buffered (no network)',
      'skips > without a reason (no reason given)',
      'skips > by a plan (no /proc)',
      'skips > by a plan, in words (asserts nothing)',
      'skips > by a return (asserts nothing)',
      'skips > by a return, buffered (asserts nothing)',
      'skips > one assertion > of two (no IPv6)',
      'skips > further in > nothing (asserts nothing)',
      'skips > to do (later)',
      'whole (no root)',
      'silent (no tests found)',
    ]
      .map((line) => `skipped: ${line}`)
      .sort(),
  );
  t.equal(lines.at(-1), '2 passed, 0 failed, 12 skipped');
  t.equal(code, 0);
});

t.test(
  'what passes and fails; a file that dies counts as one; no skip, no word of it',
  { buffered: true },
  async (t) => {
    const { lines, code } = await reported(t, {
      good: `t.test('two', async (t) => { t.pass(); t.pass(); }); t.pass('alone');`,
      bad: `t.test('within', async (t) => { t.pass(); t.equal(1, 2, 'no'); });`,
      dead: 'process.exit(3);',
    });
    t.strictSame(
      lines.filter((line) => line.startsWith('FAILED: ')).sort(),
      ['FAILED: bad > within > no', 'FAILED: dead'].sort(),
    );
    t.match(lines.filter((line) => /^(ok|NOT OK) /.test(line)).sort(), [
      /^NOT OK {2}bad {2}\d+ ms$/,
      /^NOT OK {2}dead {2}\d+ ms$/,
      /^ok {2}good {2}\d+ ms$/,
    ]);
    t.equal(lines.at(-1), '4 passed, 2 failed');
    t.not(code, 0);
  },
);

/** Passes when it is run for the second time in its folder, and says which random number it drew. */
const ONCE = `
import { appendFileSync, readFileSync } from 'node:fs';
const { Random } = await import(${JSON.stringify(join(ROOT, 'test/kit/random.ts'))});
appendFileSync('once', new Random().seed + ' ');
const [first, second] = readFileSync('once', 'utf8').trim().split(' ');
t.equal(first, second, 'the same seed');
t.pass();
`;

t.test('in a run of several, what fails is run again alone, with the same seed', { buffered: true }, async (t) => {
  const again = [process.execPath, '--input-type=module', '-e', IN_TURN, '--'] as const;
  const { lines, code } = await reported(t, { good: 't.pass();', once: ONCE }, again);
  t.strictSame(
    lines.filter((line) => /^(?:FAILED|once more|once:)/.test(line)).map((line) => line.replace(/RUN_SEED=\d+/, 'S')),
    ['FAILED: once > the same seed', 'once more, alone: once', 'once: failed, then passed alone (S)'],
  );
  t.equal(lines.at(-1), '3 passed, 0 failed');
  t.equal(code, 0);

  const bad = await reported(t, { good: 't.pass();', bad: 't.pass(); t.fail(); t.fail();' }, again);
  t.equal(bad.lines.at(-1), '2 passed, 2 failed');
  t.match(bad.lines.at(-2), /^bad: failed, then failed again alone/);
  t.not(bad.code, 0);

  const many = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`bad${i}`, 't.fail();']));
  const six = await reported(t, many, again);
  t.equal(six.lines.at(-1), '0 passed, 6 failed');
  t.notOk(
    six.lines.some((line) => line.startsWith('once more')),
    'six are too many',
  );
  t.not(six.code, 0);
});
