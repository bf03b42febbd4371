/**
 * Seeded randomness: every test that uses it prints its seed when it fails, and takes one from SEED. A run of several files draws one seed
 * (RUN_SEED, kit/run.mjs), from which each file's seeds follow, so that a second try has the same input.
 */

import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import { currentFile } from './current-file.mjs';
import { Seeded } from './seeded.mjs';

/** File → number of seeds drawn. */
const drawn = new Map<string, number>();

/** @returns SEED; else a seed from the run's, the file and its number of draws; else a random one. Below 2 ** 31 */
export function drawSeed(): number {
  const { SEED, RUN_SEED } = process.env;
  if (SEED !== undefined) return Number(SEED);
  if (RUN_SEED === undefined) return Math.floor(Math.random() * 2 ** 31);
  const file = currentFile() ?? relative(process.cwd(), process.argv[1]!);
  const count = drawn.get(file) ?? 0;
  drawn.set(file, count + 1);
  const from = `${RUN_SEED} ${file} ${count}`;
  return createHash('sha256').update(from).digest().readUInt32BE(0) >>> 1;
}

export class Random {
  readonly seed: number;
  readonly #numbers: Seeded;

  constructor(seed = drawSeed()) {
    this.seed = seed;
    this.#numbers = new Seeded(seed);
  }

  /** In [0, 1). */
  next(): number {
    return this.#numbers.next();
  }

  /** A whole number from min to max, both inclusive. */
  int(min: number, max: number): number {
    return min + this.#numbers.below(max - min + 1);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    for (let i = 0; i < length; i++) bytes[i] = this.int(0, 255);
    return bytes;
  }
}
