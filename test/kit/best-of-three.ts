/**
 * A promise that is a time, on a machine that is busy with something else for a while: it is kept where the best of three tries keeps it. What is
 * slow itself is slow each time. Each try is a whole story; what the machine's own delays are, it subtracts (loop-delay.ts, machine-delay.ts).
 */

const TRIES = 3;

/** @returns the least of what `story` returns, in ms; it runs again only while none was less than `mostMs` */
export async function bestOfThree(mostMs: number, story: (attempt: number) => Promise<number>): Promise<number> {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < TRIES && bestMs >= mostMs; attempt++) bestMs = Math.min(bestMs, await story(attempt));
  return bestMs;
}
