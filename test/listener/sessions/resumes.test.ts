/** Audio that comes again behind a pause: who waited for it has a turn at once, a thousand in a tick. */

import t from 'tap';
import type { AudioTape } from '../../../src/audio/tape/audio-tape.js';
import { TICK_MS } from '../../../src/base/clock.js';
import type { Listener } from '../../../src/listener/cursor/listener.js';
import { Resumes } from '../../../src/listener/sessions/resumes.js';
import { Runs } from '../../../src/listener/sessions/runs.js';

const SEGMENT_MS = 1000;
/** The shortest. */
const PAUSE_MS = 2000;

/** Listeners of some tapes, in 75 slots as the audience has them. */
class Crowd {
  readonly slots: Listener[][] = Array.from({ length: 75 }, () => []);
  readonly resumes = new Resumes(this.slots);
  /** The tape of each turn since the last look. */
  turns: Runs[] = [];
  nowMs = 0;
  #count = 0;

  /** Its segments 0 to 4 are there. @param segmentMs of each, by its number */
  tape(segmentMs = (_seq: number): number => SEGMENT_MS): Runs & { tape: { head: number } } {
    const at = (seq: number) => ({ startMs: 0, endMs: segmentMs(seq) });
    return new Runs({ head: 5, at } as unknown as AudioTape, 0) as ReturnType<Crowd['tape']>;
  }

  add(runs: Runs, count: number): void {
    for (let i = 0; i < count; i++) {
      this.slots[this.#count++ % this.slots.length]!.push({ runs } as Listener);
      runs.enter();
      this.resumes.enter(runs, this.nowMs);
    }
  }

  /** One that has left its slot. */
  leave(runs: Runs): void {
    runs.leave();
    this.resumes.leave(runs);
  }

  /** A tick. */
  look(): number {
    this.turns = [];
    this.nowMs += TICK_MS;
    this.resumes.look(this.nowMs, { onTurn: ({ runs }) => this.turns.push(runs!) });
    return this.turns.length;
  }

  /** So long, with a look each tick. @returns how many had a turn */
  pass(ms: number): number {
    let turns = 0;
    for (const end = this.nowMs + ms; this.nowMs < end; ) turns += this.look();
    return turns;
  }
}

t.test('a tape that stood still: all of its listeners, and only they, have a turn at once', async (t) => {
  const crowd = new Crowd();
  const [quiet, other] = [crowd.tape(), crowd.tape()];
  crowd.add(quiet, 200);
  crowd.add(other, 200);
  t.equal(crowd.pass(PAUSE_MS + 100), 0, 'nothing comes');
  quiet.tape.head++;
  t.equal(crowd.look(), 200);
  t.ok(crowd.turns.every((runs) => runs === quiet));
  t.equal(crowd.pass(PAUSE_MS + 100), 0, 'once');
});

t.test('audio that keeps coming wakes nobody, however long its segments are', async (t) => {
  for (const segmentMs of [250, 1000, 6000]) {
    const crowd = new Crowd();
    const runs = crowd.tape(() => segmentMs);
    crowd.add(runs, 10);
    for (let i = 0; i < 5; i++) {
      t.equal(crowd.pass(segmentMs), 0, `${segmentMs} ms`);
      runs.tape.head++;
    }
    crowd.look();
    // What is no pause, but for a tick.
    crowd.pass(Math.max(PAUSE_MS, 1.2 * segmentMs) - TICK_MS);
    runs.tape.head++;
    t.equal(crowd.look(), 0, 'no pause yet');
    crowd.pass(Math.max(PAUSE_MS, 1.2 * segmentMs) + 2 * TICK_MS);
    runs.tape.head++;
    t.equal(crowd.look(), 10, 'a pause');
  }
});

t.test('a pause is measured by the segment before it, not by the one that ends it', async (t) => {
  for (const [beforeMs, behindMs, turns] of [
    [6000, 250, 0],
    [250, 6000, 10],
  ] as const) {
    const crowd = new Crowd();
    const runs = crowd.tape((seq) => (seq < 5 ? beforeMs : behindMs));
    crowd.add(runs, 10);
    crowd.pass(3000);
    runs.tape.head++;
    t.equal(crowd.look(), turns, `${beforeMs} ms, nothing for 3 s, ${behindMs} ms`);
  }
});

t.test('a large crowd is spread over ticks, each of them once', async (t) => {
  const crowd = new Crowd();
  const runs = crowd.tape();
  crowd.add(runs, 7500);
  crowd.pass(PAUSE_MS + 100);
  runs.tape.head++;
  const first = crowd.look();
  t.ok(first >= 1000 && first <= 1100, `${first} in a tick`);
  t.equal(first + crowd.pass(7 * TICK_MS), 7500, 'all of them in 8 ticks');
  t.equal(crowd.pass(1000), 0);
});

t.test('a thousand tapes that resume at once cost one round of the listeners', async (t) => {
  const crowd = new Crowd();
  const all = Array.from({ length: 1000 }, () => crowd.tape());
  for (const runs of all) crowd.add(runs, 5);
  let looks = 0;
  const counted = { runs: all[0]! };
  const get = () => {
    looks++;
    return all[0]!;
  };
  Object.defineProperty(counted, 'runs', { get });
  crowd.slots[3]![0] = counted as unknown as Listener;
  crowd.pass(PAUSE_MS + 100);
  for (const runs of all) runs.tape.head++;
  let turns = crowd.look();
  t.ok(turns >= 1000 && turns <= 1100, `${turns} in a tick`);
  for (let ticks = 1; ticks < 5; ticks++) turns += crowd.look();
  t.equal(turns, 5000, 'each of them once');
  t.ok(looks <= 4, `one of them was looked at ${looks} times`);
  t.equal(crowd.pass(1000), 0);
});

t.test('a tape that resumes while others do has all of its listeners have a turn', async (t) => {
  const crowd = new Crowd();
  const [first, second] = [crowd.tape(), crowd.tape()];
  crowd.add(first, 5000);
  crowd.add(second, 5000);
  crowd.pass(PAUSE_MS + 100);
  first.tape.head++;
  let turns = crowd.look();
  second.tape.head++;
  let ofSecond = 0;
  for (let ticks = 0; ticks < 15; ticks++) {
    turns += crowd.look();
    ofSecond += crowd.turns.filter((runs) => runs === second).length;
  }
  t.equal(ofSecond, 5000);
  t.equal(turns, 10_000);
});

t.test('who has left has no turn, and nothing is left of a tape without listeners', async (t) => {
  const crowd = new Crowd();
  const runs = crowd.tape();
  crowd.add(runs, 2);
  crowd.slots[0]!.pop();
  crowd.leave(runs);
  crowd.pass(PAUSE_MS + 100);
  runs.tape.head++;
  t.equal(crowd.look(), 1);
  crowd.slots[1]!.pop();
  crowd.leave(runs);
  crowd.pass(PAUSE_MS + 100);
  runs.tape.head++;
  crowd.add(runs, 1);
  t.equal(crowd.look(), 0, 'it has come after the pause');
});
