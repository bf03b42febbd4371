/** Slots: each one has its turn once in so many seconds and never later, whatever comes, goes and moves between. */

import t from 'tap';
import { Slots, type TurnHandler } from '../../../src/listener/sessions/slots.js';
import { Random } from '../../kit/random.js';

const TICK_MS = 40;
const START_MS = 1_000_000;

class One {
  slot = -1;
  index = -1;
  visits = 0;
  /** When it was added, or had its last turn. */
  seenMs: number;
  constructor(nowMs: number) {
    this.seenMs = nowMs;
  }
}

/** Removes some of those whose turn it is. */
class Leaver implements TurnHandler<One> {
  longestMs = 0;
  readonly gone: One[] = [];
  readonly #slots: Slots<One>;
  readonly #isLeaving: () => boolean;

  constructor(slots: Slots<One>, isLeaving: () => boolean = () => false) {
    this.#slots = slots;
    this.#isLeaving = isLeaving;
  }

  onTurn(one: One, nowMs: number): void {
    one.visits++;
    this.longestMs = Math.max(this.longestMs, nowMs - one.seenMs);
    one.seenMs = nowMs;
    if (!this.#isLeaving()) return;
    this.#slots.remove(one);
    this.gone.push(one);
  }
}

for (const seconds of [1, 2, 4]) {
  t.test(`${seconds} s: a crowd is spread evenly, and each has one turn in that time`, async (t) => {
    const slots = new Slots<One>(seconds, START_MS);
    const leaver = new Leaver(slots);
    const all = Array.from({ length: 100 }, () => new One(START_MS));
    for (const [group, one] of all.entries()) slots.add(one, group);
    t.same(new Set(slots.slots.map(({ length }) => length)), new Set([100 / (25 * seconds)]));
    for (let nowMs = START_MS + TICK_MS; nowMs <= START_MS + seconds * 1000; nowMs += TICK_MS) {
      const before = all.filter(({ visits }) => visits > 0).length;
      slots.turn(nowMs, leaver);
      t.equal(all.filter(({ visits }) => visits > 0).length - before, 100 / (25 * seconds));
      slots.turn(nowMs + TICK_MS - 1, leaver);
    }
    t.same(new Set(all.map(({ visits }) => visits)), new Set([1]));
  });

  t.test(`${seconds} s: a late tick makes up for the slots that it missed, each once`, async (t) => {
    const slots = new Slots<One>(seconds, START_MS);
    const leaver = new Leaver(slots);
    const all = Array.from({ length: 25 * seconds }, () => new One(START_MS));
    for (const [group, one] of all.entries()) slots.add(one, group);
    slots.turn(START_MS + 10 * TICK_MS, leaver);
    t.equal(all.filter(({ visits }) => visits === 1).length, 10);
    slots.turn(START_MS + 30_000, leaver);
    t.equal(
      all.filter(({ visits }) => visits === 1).length,
      25 * seconds - 10,
      'those that had none, and nobody twice …',
    );
    t.equal(all.filter(({ visits }) => visits === 2).length, 10, '… in this turn');
  });
}

t.test('a group has its turn together, unless it is a crowd', async (t) => {
  const slots = new Slots<One>(1, START_MS);
  const lengths = () => slots.slots.map(({ length }) => length);
  const add = (group: number) => {
    const one = new One(START_MS);
    slots.add(one, group);
    return one.slot;
  };
  for (let i = 0; i < 16; i++) t.equal(add(27), 2);
  t.not(add(27), 2, 'one more stands elsewhere');
  t.equal(add(28), 3);
  for (let i = 0; i < 1000; i++) add(27);
  t.ok(Math.max(...lengths()) - Math.min(...lengths()) <= 16, `${lengths()}`);
});

t.test('whoever comes and goes, nobody waits longer than a turn', async (t) => {
  const random = new Random();
  for (const seconds of [1, 2, 4]) {
    const slots = new Slots<One>(seconds, START_MS);
    const leaver = new Leaver(slots, () => random.chance(0.05));
    const there = new Set<One>();
    let nowMs = START_MS;
    for (let step = 0; step < 3000; step++) {
      nowMs += TICK_MS;
      slots.turn(nowMs, leaver);
      for (const one of leaver.gone.splice(0)) there.delete(one);
      for (let i = random.int(0, 3); i > 0; i--) {
        const one = new One(nowMs);
        slots.add(one, random.int(0, 3));
        there.add(one);
      }
      for (const one of there) {
        if (!random.chance(0.01)) continue;
        slots.remove(one);
        there.delete(one);
      }
      const places = slots.slots.flatMap((slot, s) => slot.filter((one, i) => one.slot === s && one.index === i));
      if (places.length !== there.size || !places.every((one) => there.has(one))) {
        t.fail(`seed ${random.seed}, step ${step}: ${places.length} of ${there.size} are where they say`);
        break;
      }
    }
    t.equal(leaver.longestMs, seconds * 1000, `seed ${random.seed}: ${there.size} were there at the end`);
  }
});
