/** What `npm test` prints of files that pass, fail, skip, and of those that say nothing at all; run as tap runs it. */

import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { tempFolder } from './server.js';

const ROOT = new URL('../../', import.meta.url).pathname;
const TAP = join(ROOT, 'node_modules/.bin/tap');

/** @returns the lines that the reporter prints for these files, and tap's exit code */
async function reported(t: Test, files: Record<string, string>): Promise<{ lines: string[]; code: number }> {
  const folder = tempFolder(t);
  const paths = Object.entries(files).map(([name, text]) => {
    const path = join(folder, `${name}.test.mjs`);
    writeFileSync(path, `import t from ${JSON.stringify(import.meta.resolve('tap'))};\n${text}`);
    return path;
  });
  // A folder of its own, as tap keeps there what it keeps of a run; with the plugins of ours, for which tap is built.
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, '.taprc'), "plugin: ['!@tapjs/typescript']\ndisable-coverage: true\n");
  const args = ['--reporter', join(ROOT, 'test/kit/reporter.mjs'), ...paths];
  // A run of its own, not a part of this one.
  const own = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('TAP') && !name.startsWith('TEST_TOTALS') && !name.startsWith('_TAPJS'),
  );
  return await new Promise((done) => {
    execFile(TAP, args, { cwd: folder, env: { ...Object.fromEntries(own), NODE_OPTIONS: '' } }, (error, stdout) => {
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
