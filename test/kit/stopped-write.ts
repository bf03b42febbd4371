/** Makes writes to a file hang, as on a dead disk, by a named pipe in its place. */

import { execFile, spawnSync } from 'node:child_process';
import type { Test } from 'tap';

/** Each try takes a few ms. */
const MAX_TRIES = 500;

export class StoppedWrite {
  readonly #path: string;
  #isOver = false;

  /** Holds the next write to this file, until `release` or the test's end. */
  constructor(t: Test, path: string) {
    this.#path = path;
    // The file may be being written at this moment.
    for (let tries = MAX_TRIES; ; tries--) {
      const { status, stderr } = spawnSync('mkfifo', [path], { encoding: 'utf8' });
      if (status === 0) break;
      if (tries === 0) throw new Error(stderr);
    }
    t.teardown(() => this.release());
  }

  /** Lets the write complete. */
  release(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // It waits for a writer, and ends by its time-out if there is none.
    execFile('cat', [this.#path], { timeout: 5000, maxBuffer: 64 * 1024 * 1024 }, () => undefined);
  }
}
