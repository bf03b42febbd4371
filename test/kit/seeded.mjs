/** Random numbers from a seed (mulberry32), in plain JavaScript for programs without the tests' TypeScript (legs.mjs, spread.mjs). */

export class Seeded {
  #state;

  /** @param {number} seed */
  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** @returns {number} in [0, 1) */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let x = this.#state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  }

  /** @returns a whole number from 0 to `count` - 1 */
  below(count) {
    return Math.floor(this.next() * count);
  }

  /** @returns a copy in random order */
  shuffled(items) {
    const all = [...items];
    for (let i = all.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [all[i], all[j]] = [all[j], all[i]];
    }
    return all;
  }
}
