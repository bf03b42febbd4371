/** How the CPU time of a parser grows with its input, as a ratio. */

import type { Test } from 'tap';
import { costRatio } from './cost.js';

const TIMES = 8;
/** Of eight times the input: 8 where it is linear, twice that where the caches hold only the small one, 64 where it is quadratic. */
const MOST = 22;

/** @param make an input of this size @param size large enough to be timed */
export async function growsLinearly(
  t: Test,
  name: string,
  size: number,
  make: (size: number) => string,
  parse: (text: string) => unknown,
): Promise<void> {
  const [small, large] = [make(size), make(size * TIMES)];
  const calm = (text: string) => () => {
    try {
      parse(text);
    } catch {
      // What it says of it is tested elsewhere.
    }
  };
  const ratio = await costRatio(MOST, calm(large), calm(small));
  t.ok(ratio < MOST, `${name}: ${TIMES} times as much takes ${ratio.toFixed(1)} times as long`);
}
