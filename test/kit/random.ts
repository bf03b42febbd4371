/** Seeded randomness: every test that uses it prints its seed when it fails, and takes one from SEED. */

export class Random {
  readonly seed: number;
  #state: number;

  constructor(seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))) {
    this.seed = seed;
    this.#state = seed >>> 0;
  }

  /** In [0, 1): mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let x = this.#state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from min to max, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
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
