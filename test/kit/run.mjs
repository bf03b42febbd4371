/**
 * `npm test`: all files, several at a time, then one by one those that measure how long a server keeps its clients waiting: load from
 * other files would spoil the figures. One closing line for both runs. With files as arguments: only those.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ALONE = ['behaviour/unread-answers', 'behaviour/framing-budget', 'e2e/attacks'].map(
  (name) => `test/${name}.test.ts`,
);
// As in .taprc, whose list an option replaces.
const BY_NAME = ['test/long/**', 'test/e2e/faults.test.ts'];
const named = process.argv.slice(2);

/** @returns whether all passed */
function tap(args, env) {
  const all = ['--reporter=./test/kit/reporter.mjs', ...args];
  return spawnSync('tap', all, { stdio: 'inherit', env: { ...process.env, ...env } }).status === 0;
}

const folder = mkdtempSync(join(tmpdir(), 'airsplice-tests-'));
try {
  let isOk = true;
  if (named.length > 0) isOk = tap(named, {});
  else {
    const env = { TEST_TOTALS: join(folder, 'totals.json') };
    const excluded = [...BY_NAME, ...ALONE].map((file) => `--exclude=${file}`);
    isOk = tap(excluded, { ...env, TEST_TOTALS_GO_ON: '1' });
    isOk = tap(['--jobs=1', ...ALONE], env) && isOk;
  }
  process.exitCode = isOk ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
