/** A disk of a few hundred kilobytes, which can be full. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';

/** At this folder, until the test ends. Null: none can be mounted here. @param size as mount(8) of a tmpfs has it */
export function smallDisk(t: Test, folder: string, size: string): SmallDisk | null {
  mkdirSync(folder, { recursive: true });
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder]).status !== 0) return null;
  t.teardown(() => void spawnSync('umount', ['-l', folder]));
  return new SmallDisk(folder);
}

export class SmallDisk {
  readonly #filler: string;
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.#filler = join(folder, 'filler');
  }

  /** @param left bytes, at most a block more */
  fill(left: number): void {
    const { bavail, bsize } = statfsSync(this.#folder);
    writeFileSync(this.#filler, Buffer.alloc(Math.max(0, bavail * bsize - left)), { flag: 'a' });
  }

  free(): void {
    rmSync(this.#filler);
  }
}
