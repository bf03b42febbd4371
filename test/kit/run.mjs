/**
 * `npm test` and `npm run test:long`: all files of a form, several at a time, then those that measure a machine at rest, one by one. One
 * closing line for both. With files as arguments: only those.
 *
 * The short form (4 minutes) leaves out `LONG`: what takes long by its nature (crashes, disks, clocks, attacks) and all but one of the real
 * programs of a kind. The long form has those, the long forms of some others (LONG=1), and test/behaviour once more on a hub and two workers
 * (TEST_WORKERS=2).
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** By name, which tap would ignore where it has changed. */
function files(folder, names) {
  const paths = names.split(/\s+/).map((name) => `test/${folder}/${name}.test.ts`);
  for (const path of paths) if (!existsSync(path)) throw new Error(`${path} is not there: see test/kit/run.mjs`);
  return paths;
}

/** Not in the short form. */
const LONG = [
  ...files(
    'e2e',
    'attacks clock crash darkice exception faults ffmpeg-ogg firefox libshout liquidsoap log ogg ogg-icy players',
  ),
  ...files('e2e', 'rolling-restart sessions store worker-limits'),
  ...files('behaviour', 'churn decoders fuzz-front heard-places large-pieces large-station media-clock unread-answers'),
  ...files('docs', 'playout'),
  ...files('store', 'pages'),
];
/** In both: the long form tries more. */
const LONGER = [
  ...files('audio', 'framer ogg ogg-rendering'),
  ...files('e2e', 'start'),
  ...files('link', 'replica-tape'),
  ...files('net', 'connections'),
  ...files('store', 'store'),
];
/** Load from other files would spoil what they measure. */
const ALONE = [...files('behaviour', 'framing-budget'), ...files('e2e', 'workers')];
const LONG_ALONE = [
  ...files('behaviour', 'heard-places unread-answers'),
  // Four processes each.
  ...files('e2e', 'attacks rolling-restart sessions worker-limits'),
  ...files('long', 'bench hostile hostile-workers processes truth'),
];

/** These start no server of processes: with workers they would be the same. */
const NO_SERVER = files(
  'behaviour',
  'decoders encoder-transcripts framing-budget fuzz-front heard-places joined-limits media-clock splice unread-answers',
);
/** @returns whether all passed */
function tap(args, env) {
  const all = ['--reporter=./test/kit/reporter.mjs', ...args];
  return spawnSync('tap', all, { stdio: 'inherit', env: { ...process.env, ...env } }).status === 0;
}

/**
 * One run of tap after the other, with one closing line.
 *
 * @param runs arguments, and what the environment has besides
 * @returns whether all passed
 */
function inTurn(runs) {
  const folder = mkdtempSync(join(tmpdir(), 'airsplice-tests-'));
  try {
    const TEST_TOTALS = join(folder, 'totals.json');
    const results = runs.map(([args, env], i) => {
      const goesOn = i < runs.length - 1 ? { TEST_TOTALS_GO_ON: '1' } : {};
      return tap(args, { ...env, TEST_TOTALS, ...goesOn });
    });
    return !results.includes(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const SLOW = '--timeout=1800';

function testsIn(folder) {
  const found = readdirSync(`test/${folder}`).filter((file) => file.endsWith('.test.ts'));
  return found.map((file) => `test/${folder}/${file}`);
}

function long() {
  const first = [...testsIn('long'), ...LONG, ...LONGER];
  const rest = first.filter((file) => !LONG_ALONE.includes(file));
  const env = { LONG: '1' };
  return inTurn([[[SLOW, '--jobs=2', ...rest], env], [[SLOW, '--jobs=1', ...LONG_ALONE], env], onWorkers()]);
}

/** What of test/behaviour starts a server. One file at a time: with four processes for each server it has enough to do. */
function onWorkers() {
  const rest = testsIn('behaviour').filter((file) => !NO_SERVER.includes(file));
  return [[SLOW, '--jobs=1', ...rest], { TEST_WORKERS: '2' }];
}

function short() {
  const excluded = ['test/long/**', ...LONG, ...ALONE].map((file) => `--exclude=${file}`);
  return inTurn([
    [excluded, {}],
    [['--jobs=1', ...ALONE], {}],
  ]);
}

const named = process.argv.slice(2);
const forms = { '--long': long, '--workers': () => inTurn([onWorkers()]) };
const isOk = named.length === 0 ? short() : named[0] in forms ? forms[named[0]]() : tap(named, {});
process.exitCode = isOk ? 0 : 1;
