import t from 'tap';
import { costRatio } from './cost.js';

let nowMs = 0;
const clock = () => nowMs;

/** Work of this duration, with delays by the machine in some rounds. */
function lasting(ms: number, delaysMs: readonly number[] = []): () => void {
  let round = 0;
  return () => {
    nowMs += ms + (delaysMs[round++] ?? 0);
  };
}

t.test('delays of the machine change nothing, whichever they befall', async (t) => {
  t.equal(await costRatio(6, lasting(20, [40, 40]), lasting(5, [0, 60]), clock), 4);
});

t.test('a control that is held up at first excuses nothing', async (t) => {
  t.equal(await costRatio(3, lasting(40), lasting(5, [50, 50]), clock), 8);
});

t.test('a delay in every round but one does not fail what is quick', async (t) => {
  t.equal(await costRatio(3, lasting(5, [50, 50, 50, 50]), lasting(5), clock), 1);
});

t.test('short work that is delayed again and again is tried until it is not', async (t) => {
  t.equal(await costRatio(3, lasting(0.5, Array(20).fill(40)), lasting(0.5), clock), 1);
});

t.test('no clock of its own: real time', async (t) => {
  // Counted in iterations, since the process may get no CPU during a fixed time.
  const busy = (turns: number) => () => {
    let sum = 0;
    for (let i = 0; i < turns; i++) sum += Math.sqrt(i);
    return sum;
  };
  t.ok((await costRatio(1, busy(10_000_000), busy(1_000_000))) > 1);
});
