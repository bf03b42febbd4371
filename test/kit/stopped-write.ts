/** A file whose write stands still, as on a disk that does not answer: a pipe has its place. */

import { execFile, spawnSync } from 'node:child_process';
import type { Test } from 'tap';

/** Each takes some ms. */
const MAX_TRIES = 500;

export class StoppedWrite {
  readonly #path: string;
  #isOver = false;

  /** The next write to this file, until `goOn` or the test's end. */
  constructor(t: Test, path: string) {
    this.#path = path;
    // It may be written just now.
    for (let tries = MAX_TRIES; ; tries--) {
      const { status, stderr } = spawnSync('mkfifo', [path], { encoding: 'utf8' });
      if (status === 0) break;
      if (tries === 0) throw new Error(stderr);
    }
    t.teardown(() => this.goOn());
  }

  /** What waits is written. */
  goOn(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // It waits for who writes; where nobody does any more it ends by its time.
    execFile('cat', [this.#path], { timeout: 5000, maxBuffer: 64 * 1024 * 1024 }, () => undefined);
  }
}
