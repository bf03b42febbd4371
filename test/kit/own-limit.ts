/** A limit of this very process, lowered for a while: what a full disk or a table of files without room is to the one who asks. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs `act` while this process has no more than this of a resource; its own limit is back then, whatever happened. Not beside other tests.
 * @param resource as prlimit(1) names it
 */
export async function withLimit(resource: 'fsize' | 'nofile', most: number, act: () => Promise<void>): Promise<void> {
  // Begun before, since without a file descriptor none can be: it lowers the limit, and gives it back when its input ends.
  const script =
    'o="--pid $1 --$2" && s=$(prlimit $o --noheadings --raw -o SOFT) && prlimit $o="$3:" && echo low && cat && prlimit $o="$s:"';
  const child = spawn('sh', ['-c', script, 'sh', String(process.pid), resource, String(most)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  const first = await Promise.race([once(child.stdout, 'data'), ended]);
  if (String(first[0]) !== 'low\n') throw new Error(`prlimit failed: ${first.join()}`);
  // The limit counts for a file that takes this test's output too, and lmdb prints what it rejects with.
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
