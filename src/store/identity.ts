/**
 * Whether the store's file, opened once, is still the one at its path. LMDB goes on writing to a file that was removed or replaced, or whose disk
 * was taken away: what is saved there is lost when the process ends. Owned by disk.ts, which asks before and after each commit; the answer is not
 * cached, so that a file that comes back is good again.
 */

import { type BigIntStats, statSync } from 'node:fs';

export class FileIdentity {
  readonly #file: string;
  readonly #opened: BigIntStats;

  /** @param file must exist */
  constructor(file: string) {
    this.#file = file;
    this.#opened = statSync(file, { bigint: true });
  }

  /** What became of the file, or why that cannot be read; null: it is there. Takes some microseconds. */
  fault(): string | null {
    let found: BigIntStats;
    try {
      found = statSync(this.#file, { bigint: true });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return `${this.#file} is gone: put it back, or restart to begin a new store`;
      return `${this.#file} cannot be checked (${code})`;
    }
    if (found.ino === this.#opened.ino && found.dev === this.#opened.dev) return null;
    return `${this.#file} was replaced by another file: put the old one back, or restart to use this one`;
  }
}
