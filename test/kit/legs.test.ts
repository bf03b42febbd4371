/** A run of many files, and its output: files that pass, fail, skip, assert nothing, die, hang, or pass at the second try. */

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { tempFolder } from './temp-folder.js';

const KIT = new URL('./', import.meta.url).pathname;
/** As run.mjs, but without the wait for a quiet machine, since other tests run beside this one. */
const RUN = `
import { Legs } from '${KIT}legs.mjs';
const { processes, own, extra, maxExtraMs, timeoutMs, graceMs } = JSON.parse(process.argv[1]);
const files = process.argv.slice(2);
const legs = new Legs((file) => file, { maxQuietWaitMs: 10, maxExtraMs });
const named = (names) => files.filter((file) => names.includes(file.match(/(\\w+)\\.test\\.mjs$/)[1]));
await legs.run({ name: 'all of them', files, own: named(own), extra: named(extra), processes, timeoutMs, graceMs });
process.exitCode = (await legs.close()) ? 0 : 1;
`;

interface Ran {
  readonly lines: string[];
  readonly err: string;
  readonly code: number;
}

/** @param own names of files that need their own process; the others share `processes` */
async function run(
  t: Test,
  files: Record<string, string>,
  {
    processes = 2,
    own = [] as string[],
    extra = [] as string[],
    maxExtraMs = 60_000,
    timeoutMs = 60_000,
    graceMs = 15_000,
    env = {} as NodeJS.ProcessEnv,
    script = RUN,
  } = {},
): Promise<Ran> {
  const folder = tempFolder(t);
  const paths = Object.entries(files).map(([name, text]) => {
    const path = join(folder, `${name}.test.mjs`);
    writeFileSync(path, `import t from ${JSON.stringify(`${KIT}current-file.mjs`)};\n${text}`);
    return path;
  });
  const args = [
    '--input-type=module',
    '-e',
    script,
    '--',
    JSON.stringify({ processes, own, extra, maxExtraMs, timeoutMs, graceMs }),
    ...paths,
  ];
  // A separate run, not a part of this one.
  const { RUN_SEED: _, TEST_TIMES: __, ...rest } = process.env;
  return await new Promise((done) => {
    execFile(process.execPath, args, { cwd: folder, env: { ...rest, ...env } }, (error, stdout, err) => {
      const lines = stdout.split('\n').filter((line) => line !== '');
      done({
        lines: lines.map((line) => line.replaceAll(/(?:[^\s>]*\/)?(\w+)\.test\.mjs/g, '$1')),
        err,
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
  const { lines, code } = await run(t, { skips: SKIPS, whole: `t.plan(0, 'no root');`, silent: '' });
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
      'silent (asserts nothing)',
    ]
      .map((line) => `skipped: ${line}`)
      .sort(),
  );
  t.equal(lines.at(-1), '2 passed, 0 failed, 12 skipped');
  t.equal(code, 0);
});

t.test('tests are counted, not their assertions; every failure is named, with what the machine did', async (t) => {
  const { lines, code } = await run(t, {
    good: `t.test('two', async (t) => { for (let i = 0; i < 100; i++) t.pass(); }); t.pass('alone'); t.pass('alone');`,
    bad: `t.test('within', async (t) => { t.pass(); t.equal(1, 2, 'no'); t.test('further', async (t) => t.pass()); });`,
    thrown: `t.test('before', async (t) => t.pass()); throw new Error('out of a file');`,
    late: `t.test('long', async (t) => { process.nextTick(() => { throw new Error('out of a turn'); }); await new Promise((done) => setImmediate(done)); t.pass(); });`,
    dead: 'process.exit(3);',
  });
  // Each failed file runs twice.
  t.strictSame([...new Set(lines.filter((line) => line.startsWith('FAILED: ')))].sort(), [
    'FAILED: bad > within > no',
    'FAILED: dead > test unfinished',
    'FAILED: dead > the process ended with 1',
    'FAILED: late > out of a turn',
    'FAILED: thrown > out of a file',
  ]);
  t.match(
    lines.filter((line) => /^load /.test(line)),
    Array(10).fill(/^load \d+\.\d, \d+ % busy, \d+ % stolen, an idle process was up to \d+ ms late$/),
  );
  t.match(
    [...new Set(lines.filter((line) => /^(ok|NOT OK) /.test(line)).map((line) => line.replace(/\d+ ms/, '')))].sort(),
    [/^NOT OK {2}bad /, /^NOT OK {2}dead /, /^NOT OK {2}late /, /^NOT OK {2}thrown /, /^ok {2}good /],
  );
  t.equal(lines.at(-1), '5 passed, 4 failed');
  t.not(code, 0);
});

t.test(
  'files share a process, in an order by the seed; a failure names what ran before it',
  { buffered: true },
  async (t) => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'own'];
    const text = `t.pass(); globalThis.files = (globalThis.files ?? '') + '%'; if ('%' === 'own') console.log('own saw ' + globalThis.files);`;
    const files = Object.fromEntries(names.map((name) => [name, text.replaceAll('%', name)]));
    files['last'] = `console.log('in all ' + globalThis.files); t.fail();`;
    const order = async (seed: string) => {
      const { lines } = await run(t, files, { processes: 1, own: ['own'], env: { RUN_SEED: seed } });
      t.ok(lines.includes('own saw own'), 'it has a process of its own');
      return lines.filter((line) => /^ok/.test(line)).map((line) => line.split(' ')[2]);
    };
    const first = await order('1');
    t.strictSame(await order('1'), first);
    t.notSame(await order('2'), first);
    t.strictSame([...first].sort(), names);

    const pair = { first: 't.pass();', second: `t.equal(globalThis.was, undefined);` };
    const { lines } = await run(
      t,
      { a: 't.pass(); globalThis.was = 1;', ...pair },
      { processes: 1, env: { RUN_SEED: '3' } },
    );
    const before = lines.find((line) => line.startsWith('in its process before: '));
    if (before !== undefined) t.match(before, /\ba\b/);
    t.match(lines.at(-1), /^3 passed, 0 failed$/, 'alone it has a process of its own, without that');
  },
);

t.test('what hangs is ended; what is left open is a failure', { buffered: true }, async (t) => {
  const { lines, code } = await run(
    t,
    { hangs: `t.test('for ever', async () => await new Promise(() => setInterval(() => {}, 1000)));` },
    { timeoutMs: 500 },
  );
  t.match(lines.join('\n'), /^FAILED: hangs.* > timeout!$/m);
  t.equal(lines.at(-1), '0 passed, 1 failed');
  t.not(code, 0);
  // What a file started ends as well: the output of a run stays open as long as a process has it.
  const starts = `(await import('node:child_process')).spawn('sleep', ['3600'], { stdio: 'inherit' }); t.pass();`;
  const blocks = await run(t, { blocks: `${starts} for (;;);` }, { timeoutMs: 100, graceMs: 100 });
  t.ok(blocks.lines.includes('FAILED: blocks > the process ended with SIGKILL'));
  const killed = await run(t, { kills: `${starts} process.kill(process.ppid, 9); await new Promise(() => {});` });
  t.notMatch(killed.lines.join('\n'), /passed/);
  const open = await run(t, { open: `t.pass(); (await import('node:net')).createServer().listen(0, '127.0.0.1');` });
  t.ok(open.lines.includes('FAILED: open > the process ended with 3'), open.lines.join('\n'));
  t.match(open.err, /^left open by one of .*open.*: TCP/);
});

/** Passes at its second run in its folder, and prints the seeds of its random numbers (random.ts). */
const ONCE = `
import { appendFileSync, readFileSync } from 'node:fs';
appendFileSync('once', process.env.RUN_SEED + ' ');
const [first, second] = readFileSync('once', 'utf8').trim().split(' ');
t.equal(first, second, 'the same seed');
t.pass();
`;

t.test('what fails is run again alone, with the same seed', { buffered: true }, async (t) => {
  const { lines, code } = await run(t, { good: 't.pass();', once: ONCE });
  t.strictSame(
    lines
      .filter((line) => /^(?:FAILED|once more|once:)/.test(line))
      .map((line) => line.replace(/RUN_SEED=\d+/, 'S').replace(/ \(load.*/, '')),
    ['FAILED: once > the same seed', 'once more, alone: once', 'once: failed, then passed alone (all of them; S)'],
  );
  t.equal(lines.at(-1), '2 passed, 0 failed');
  t.equal(code, 0);

  const bad = await run(t, { good: 't.pass();', bad: 't.pass(); t.fail(); t.fail();' });
  t.equal(bad.lines.at(-1), '1 passed, 1 failed');
  t.match(bad.lines.slice(-4, -1), [
    /^bad: failed, then failed again alone \(all of them; /,
    /^ {2}bad > \(unnamed test\)$/,
    /^ {2}bad > \(unnamed test\)$/,
  ]);
  t.not(bad.code, 0);

  const many = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`bad${i}`, 't.fail();']));
  const six = await run(t, many);
  t.equal(six.lines.at(-1), '0 passed, 6 failed');
  t.notOk(
    six.lines.some((line) => line.startsWith('once more')),
    'six are too many',
  );
  t.not(six.code, 0);
});

t.test(
  'the shortest is run again first, also where one has only left something open',
  { buffered: true },
  async (t) => {
    const spin = 'const fromMs = performance.now(); while (performance.now() - fromMs < 400);';
    const open = `${spin} t.pass(); (await import('node:net')).createServer().listen(0, '127.0.0.1');`;
    const { lines } = await run(t, { open, quick: 't.fail();' }, { own: ['open', 'quick'] });
    t.strictSame(
      lines.flatMap((line) => /^once more, alone: (\w+)/.exec(line)?.[1] ?? []),
      ['quick', 'open'],
      lines.join('\n'),
    );
  },
);

t.test('extra files begin last, and not at all once the run has taken long', { buffered: true }, async (t) => {
  const files = { extra: 't.pass();', late: 't.pass();', a: 't.pass();', b: 't.pass();' };
  const options = { processes: 1, own: Object.keys(files), extra: ['extra', 'late'] };
  const begun = ({ lines }: Ran) => lines.flatMap((line) => /^ok {2}(\w+)/.exec(line)?.[1] ?? []);
  const all = await run(t, files, options);
  t.strictSame(begun(all).slice(0, 2).sort(), ['a', 'b']);
  t.equal(all.lines.at(-1), '4 passed, 0 failed');

  const short = await run(t, files, { ...options, maxExtraMs: 0 });
  t.strictSame(begun(short).sort(), ['a', 'b']);
  t.match(short.lines.at(-2), /^no time was left for: (extra|late) \(all of them\), (extra|late) \(all of them\)$/);
  t.equal(short.lines.at(-1), '2 passed, 0 failed, 2 skipped');
  t.equal(short.code, 0);
});

t.test('legs of a group run among each other, each in its environment', { buffered: true }, async (t) => {
  const seen = `t.pass(); console.log('% on ' + process.env.PLACE);`;
  const GROUP = RUN.replace(
    /await legs.run[^;]*;/,
    `const leg = (name) => ({ name, files, own: files, processes: 4, least: 1, env: { PLACE: name } });
await legs.run(leg('one machine'), leg('two'));`,
  );
  const { lines, code } = await run(t, { a: seen.replace('%', 'a'), b: seen.replace('%', 'b') }, { script: GROUP });
  const on = lines.flatMap((line) => /^[ab] on .*/.exec(line) ?? []);
  t.strictSame(on.sort(), ['a on one machine', 'a on two', 'b on one machine', 'b on two']);
  t.strictSame(lines.flatMap((line) => /^ok {2}(.*) {2}\d+ ms {2}(.*)/.exec(line)?.slice(1).join(' ') ?? []).sort(), [
    'a (one machine)',
    'a (two)',
    'b (one machine)',
    'b (two)',
  ]);
  t.ok(lines.some((line) => /^ +\d+\.\d s {2}one machine, two$/.test(line)));
  t.equal(lines.at(-1), '4 passed, 0 failed');
  t.equal(code, 0);
});

t.test('a machine that is busy gets no more processes than the least', { buffered: true }, async (t) => {
  const text = `t.pass(); console.log('begins'); (await import('node:child_process')).execFileSync('sleep', ['3']); console.log('ends');`;
  const files = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, text]));
  const most = async (share: number) => {
    const script = RUN.replace('own: named', 'least: 2, own: named').replace(
      'await legs.run',
      `const { MachineLoad } = await import('${KIT}machine-load.mjs');
MachineLoad.prototype.busyShareOver = () => ${share};
await legs.run`,
    );
    const { lines } = await run(t, files, { script, own: Object.keys(files), processes: 4 });
    t.equal(lines.at(-1), '4 passed, 0 failed');
    let running = 0;
    let highest = 0;
    for (const line of lines) {
      if (line === 'begins') highest = Math.max(highest, ++running);
      if (line === 'ends') running--;
    }
    return highest;
  };
  t.equal(await most(0.9), 2);
  t.ok((await most(0)) > 2);
});
