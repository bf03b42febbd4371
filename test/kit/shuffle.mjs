/** An order by a seed. The numbers are those of random.ts (mulberry32), in plain JavaScript for what runs before the tests are compiled. */

export class Shuffle {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** @returns a copy in another order */
  of(items) {
    const shuffled = [...items];
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [shuffled[i], shuffled[j]] = [shuffled[j], shuffled[i]];
    }
    return shuffled;
  }

  /** @returns a whole number from 0 on, below `count` */
  below(count) {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let x = this.#state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return Math.floor((((x ^ (x >>> 14)) >>> 0) / 2 ** 32) * count);
  }
}
