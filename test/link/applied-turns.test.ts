/** How long the answer to a push waits for the workers. */

import t from 'tap';
import { AppliedTurns } from '../../src/link/applied-turns.js';
import { FakeClock } from '../kit/clock.js';

function scene(...applied: readonly number[]) {
  const clock = new FakeClock();
  const links = new Set(applied.map((turn, i) => ({ worker: i + 1, applied: turn })));
  const turns = new AppliedTurns(links, clock);
  let reached = 0;
  const ask = (turn: number) => void turns.reached(turn).then(() => reached++);
  const settled = async () => {
    await null;
    await null;
    return reached;
  };
  return { clock, links, turns, ask, settled };
}

t.test('without workers, and where all have it, at once', async (t) => {
  const none = scene();
  none.ask(8);
  t.equal(await none.settled(), 1);
  const all = scene(8, 9);
  all.ask(8);
  t.equal(await all.settled(), 1);
});

t.test('until the last one has it, each answer for its own change', async (t) => {
  const { links, turns, ask, settled } = scene(7, 7);
  const [one, other] = [...links];
  ask(8);
  ask(9);
  one!.applied = 9;
  turns.onApplied();
  t.equal(await settled(), 0);
  other!.applied = 8;
  turns.onApplied();
  t.equal(await settled(), 1);
  other!.applied = 9;
  turns.onApplied();
  t.equal(await settled(), 2);
});

t.test('not for one that has ended, nor for one that has not said who it is', async (t) => {
  const { links, turns, ask, settled } = scene(8, 7);
  links.add({ worker: 0, applied: 0 });
  ask(8);
  t.equal(await settled(), 0);
  links.delete([...links][1]!);
  turns.onApplied();
  t.equal(await settled(), 1);
});

t.test('for a silent one a quarter of a second', async (t) => {
  const { clock, ask, settled } = scene(7);
  ask(8);
  clock.advance(200);
  t.equal(await settled(), 0);
  clock.advance(100);
  t.equal(await settled(), 1);
});
