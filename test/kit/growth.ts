/** Tests that the CPU time of a parser grows linearly with its input. */

import type { Test } from 'tap';
import { costRatio } from './cost.js';

const TIMES = 8;
/** Maximum ratio of times for eight times the input: 8 is linear, 16 linear if caches hold only the small input, 64 quadratic. */
const MOST = 22;

/** @param make makes an input of a size @param size large enough to be measured */
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
      // Errors are tested elsewhere.
    }
  };
  const ratio = await costRatio(MOST, calm(large), calm(small));
  t.ok(ratio < MOST, `${name}: ${TIMES} times as much takes ${ratio.toFixed(1)} times as long`);
}
