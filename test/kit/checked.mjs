/** Runs the build, and then the tests in parallel with the checks of types, lint and format. */

import { spawn } from 'node:child_process';

/**
 * @template T
 * @param {() => Promise<T>} prepare work for the tests that can run in parallel with the build
 * @param {(prepared: T, buildMs: number) => Promise<boolean>} runTests whether they passed
 * @returns whether the build, the tests and the checks all passed; if the build fails, no tests run
 */
export async function withChecks(prepare, runTests) {
  const [built, prepared] = await Promise.all([runScript('build'), prepare()]);
  if (!built.isOk) return false;
  const linting = runScript('lint');
  const isPassed = await runTests(prepared, built.ms);
  const linted = await linting;
  if (!linted.isOk) process.stdout.write('\nnpm run lint failed: see above\n');
  return isPassed && linted.isOk;
}

/**
 * Runs `npm run NAME`, and prints its whole output at its end.
 *
 * @returns whether it ended with 0, and after how many ms
 */
function runScript(name) {
  const startedMs = performance.now();
  const child = spawn('npm', ['run', '-s', name], {
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  });
  const printed = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => printed.push(chunk));
  return new Promise((done) => {
    const end = (isOk) => {
      process.stdout.write(Buffer.concat(printed));
      done({ isOk, ms: performance.now() - startedMs });
    };
    child.once('error', (error) => {
      printed.push(Buffer.from(`npm run ${name}: ${error.message}\n`));
      end(false);
    });
    child.once('close', (code) => end(code === 0));
  });
}
