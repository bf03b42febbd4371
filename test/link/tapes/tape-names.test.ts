/** Which tapes are one, where processes that were lost had more of them than those who went on: against a model that knows every segment. */

import t from 'tap';
import { canGoOn, forkedAt, isSameTape, MAX_FORKS, type TapeName } from '../../../src/link/tapes/tape-names.js';
import { Random } from '../../kit/random.js';

const NAME: TapeName = { hub: 'x', number: 1, forks: [] };

/** A tape somewhere: its name there, and who made each of its segments. */
interface Copy {
  name: TapeName;
  segments: number[];
  /** It makes the next ones. */
  writes: boolean;
}

t.test('who has the segments before a fork goes on, who has one more does not', async (t) => {
  const forked = forkedAt(NAME, 43);
  t.notOk(isSameTape(NAME, forked));
  t.ok(canGoOn(forked, NAME, 43));
  t.notOk(canGoOn(forked, NAME, 44));
  t.ok(canGoOn(NAME, forked, 43), 'the other way round as well');
  t.notOk(canGoOn(NAME, forked, 44));
  t.ok(canGoOn(forked, forked, 1000));
  t.notOk(canGoOn(forkedAt(NAME, 43), forked, 44), 'two forks at one place are two tapes');
  t.notOk(canGoOn({ ...forked, number: 2 }, forked, 1));
  let name = forked;
  for (let i = 0; i < MAX_FORKS + 3; i++) name = forkedAt(name, 50 + i);
  t.equal(name.forks.length, MAX_FORKS);
  t.ok(canGoOn(forkedAt(name, 100), name, 100), 'the oldest ones are not needed');
});

t.test('random lives of a tape: they go on where their segments are the same, and only there', async (t) => {
  const random = new Random();
  for (let life = 0; life < 300; life++) {
    let made = 0;
    const copies: Copy[] = [{ name: NAME, segments: [], writes: true }];
    for (let step = 0; step < 60; step++) {
      const copy = copies[random.int(0, copies.length - 1)]!;
      if (copy.writes) copy.segments.push(++made);
      else if (random.chance(0.2)) {
        copy.name = forkedAt(copy.name, copy.segments.length);
        copy.writes = true;
      }
      // One that follows it, and has less.
      if (copies.length < 6 && random.chance(0.2)) {
        const segments = copy.segments.slice(0, random.int(0, copy.segments.length));
        copies.push({ name: copy.name, segments, writes: false });
      }
    }
    t.ok(copies.every(({ name }) => name.forks.length < MAX_FORKS));
    for (const one of copies) {
      for (const other of copies) {
        const next = one.segments.length;
        if (next > other.segments.length) continue;
        const isSame = one.segments.every((segment, i) => segment === other.segments[i]);
        // A fork at a place that neither has passed is none for them: so they are the same more often than their names say.
        if (canGoOn(other.name, one.name, next)) t.ok(isSame, `seed ${random.seed}`);
        else t.notOk(isSame && next > Math.max(...forkPlaces(one), ...forkPlaces(other)), `seed ${random.seed}`);
      }
    }
  }
});

function forkPlaces({ name }: Copy): readonly number[] {
  return [0, ...name.forks.map(({ seq }) => seq)];
}
