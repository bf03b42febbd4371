import t from 'tap';
import { costRatio } from './cost.js';

/** Work of this length, with a delay of the machine in some of its rounds. */
function lasting(ms: number, delaysMs: readonly number[] = []): () => void {
  let round = 0;
  return () => {
    const endMs = performance.now() + ms + (delaysMs[round++] ?? 0);
    while (performance.now() < endMs);
  };
}

t.test('delays of the machine change nothing, whichever they befall', async (t) => {
  const ratio = await costRatio(6, lasting(20, [40, 40]), lasting(5, [0, 60]));
  t.ok(ratio > 3 && ratio < 6, `${ratio}`);
});

t.test('a control that is held up at first excuses nothing', async (t) => {
  const ratio = await costRatio(3, lasting(40), lasting(5, [50, 50]));
  t.ok(ratio > 4, `${ratio}`);
});
