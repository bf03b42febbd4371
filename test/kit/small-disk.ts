/** A disk of a few hundred kilobytes, which can be full. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';

/** Mounts it at this folder until the test ends. Null: not possible here. @param size of a tmpfs, as in mount(8) */
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

  /** Fills the disk. @param left free bytes, at most a block more */
  fill(left: number): void {
    const { bavail, bsize } = statfsSync(this.#folder);
    writeFileSync(this.#filler, Buffer.alloc(Math.max(0, bavail * bsize - left)), { flag: 'a' });
  }

  free(): void {
    rmSync(this.#filler);
  }
}
