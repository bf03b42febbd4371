/**
 * `npm test` and `npm run test:long`: all files of a form, several at a time, then those that measure a machine at rest, one by one. One
 * closing line for both. With files as arguments: only those.
 *
 * The short form (4 minutes) leaves out `LONG`: what takes long by its nature (crashes, disks, clocks, attacks) and all but one of the real
 * programs of a kind. The long form has those, and the long forms of some others (LONG=1).
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
    'attacks clock crash darkice exception faults ffmpeg-ogg firefox libshout liquidsoap log ogg ogg-icy players store',
  ),
  ...files('behaviour', 'churn decoders fuzz-front heard-places large-pieces large-station media-clock unread-answers'),
  ...files('docs', 'playout'),
  ...files('store', 'pages'),
];
/** In both: the long form tries more. */
const LONGER = [
  ...files('audio', 'framer ogg ogg-rendering'),
  ...files('e2e', 'start'),
  ...files('net', 'connections'),
  ...files('store', 'store'),
];
/** Load from other files would spoil what they measure. */
const ALONE = files('behaviour', 'framing-budget');
const LONG_ALONE = [
  ...files('behaviour', 'heard-places unread-answers'),
  ...files('e2e', 'attacks'),
  ...files('long', 'hostile truth'),
];

/** @returns whether all passed */
function tap(args, env) {
  const all = ['--reporter=./test/kit/reporter.mjs', ...args];
  return spawnSync('tap', all, { stdio: 'inherit', env: { ...process.env, ...env } }).status === 0;
}

/** @returns whether all passed */
function both(first, alone, env) {
  const folder = mkdtempSync(join(tmpdir(), 'airsplice-tests-'));
  try {
    const totals = { ...env, TEST_TOTALS: join(folder, 'totals.json') };
    const isOk = tap(first, { ...totals, TEST_TOTALS_GO_ON: '1' });
    return tap(['--jobs=1', ...alone], totals) && isOk;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function long() {
  const slow = '--timeout=1800';
  const found = readdirSync('test/long').filter((file) => file.endsWith('.test.ts'));
  const first = [...found.map((file) => `test/long/${file}`), ...LONG, ...LONGER];
  const rest = first.filter((file) => !LONG_ALONE.includes(file));
  return both([slow, '--jobs=2', ...rest], [slow, ...LONG_ALONE], { LONG: '1' });
}

function short() {
  const excluded = ['test/long/**', ...LONG, ...ALONE].map((file) => `--exclude=${file}`);
  return both(excluded, ALONE, {});
}

const named = process.argv.slice(2);
const isOk = named.length === 0 ? short() : named[0] === '--long' ? long() : tap(named, {});
process.exitCode = isOk ? 0 : 1;
