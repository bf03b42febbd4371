/**
 * Runs of tap one after the other, with one closing line. Files that fail are run once more, each alone and with the same random input:
 * where the machine was too busy for what a test promises they pass, a fault fails again. The first failure stays in the output, and a line
 * before the closing one names each file that needed it.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { closingLine } from './reporter.mjs';

const TAP = fileURLToPath(new URL('../../node_modules/.bin/tap', import.meta.url));
const REPORTER = fileURLToPath(new URL('reporter.mjs', import.meta.url));
/** Of one run of tap: a busy machine does not fail more. */
const FILES_AGAIN = 5;

/** @returns whether all passed */
export function tap(args, env) {
  const { status } = spawnSync(TAP, [`--reporter=${REPORTER}`, ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return status === 0;
}

/** @returns what the reporter counted, by file and in all, and whether tap ended well */
function counted(args, env, path) {
  rmSync(path, { force: true });
  const isOk = tap(args, { ...env, TEST_TOTALS: path });
  try {
    return { isOk, ...JSON.parse(readFileSync(path, 'utf8')) };
  } catch {
    return { isOk: false, files: {}, all: { passed: 0, failed: 1, skipped: 0 } };
  }
}

/**
 * @param runs arguments of tap, and what the environment has besides
 * @returns whether all passed, those that were run again at the second try
 */
export function inTurn(runs) {
  const RUN_SEED = process.env.RUN_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
  const folder = mkdtempSync(join(tmpdir(), 'airsplice-tests-'));
  const path = join(folder, 'totals.json');
  const all = { passed: 0, failed: 0, skipped: 0 };
  const add = (counts, times = 1) => {
    for (const what of Object.keys(all)) all[what] += times * counts[what];
  };
  const again = [];
  let isOk = true;
  for (const [args, own] of runs) {
    const env = { ...own, RUN_SEED };
    const first = counted(args, env, path);
    add(first.all);
    if (first.isOk) continue;
    const failed = Object.keys(first.files).filter((file) => first.files[file].failed > 0);
    if (failed.length === 0 || failed.length > FILES_AGAIN) isOk = false;
    else {
      for (const file of failed) {
        process.stdout.write(`\nonce more, alone: ${file}\n`);
        const second = counted([...args.filter((arg) => arg.startsWith('--timeout')), file], env, path);
        add(first.files[file], -1);
        add(second.all);
        again.push(`${file}: failed, then ${second.isOk ? 'passed' : 'failed again'} alone (RUN_SEED=${RUN_SEED})\n`);
        isOk &&= second.isOk;
      }
    }
  }
  rmSync(folder, { recursive: true, force: true });
  process.stdout.write(`\n${again.join('')}${closingLine(all)}`);
  return isOk;
}
