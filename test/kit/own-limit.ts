/** Lowers a limit of this process for a while, which has the effect of a full disk or a full table of open files. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs `act` with a lower limit of a resource, and restores the limit in any case. Not in parallel with other tests.
 * @param resource its name in prlimit(1)
 */
export async function withLimit(resource: 'fsize' | 'nofile', most: number, act: () => Promise<void>): Promise<void> {
  // Started first, since no process can start without file descriptors: it lowers the limit, and restores it at the end of its input.
  const script =
    'o="--pid $1 --$2" && s=$(prlimit $o --noheadings --raw -o SOFT) && prlimit $o="$3:" && echo low && cat && prlimit $o="$s:"';
  const child = spawn('sh', ['-c', script, 'sh', String(process.pid), resource, String(most)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  const first = await Promise.race([once(child.stdout, 'data'), ended]);
  if (String(first[0]) !== 'low\n') throw new Error(`prlimit failed: ${first.join()}`);
  // The limit also applies to a file with this test's output, to which lmdb prints its errors.
  const print = console.error;
  console.error = () => undefined;
  try {
    await act();
  } finally {
    console.error = print;
    child.stdin.end();
    await ended;
  }
}
