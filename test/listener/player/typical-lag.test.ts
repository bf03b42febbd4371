/** The typical lag of a channel: the median of what its listeners hear behind the live edge, by a clock that the test moves. */

import type { Socket } from 'node:net';
import t from 'tap';
import { Tape } from '../../../src/audio/tape/tape.js';
import { Listener } from '../../../src/listener/cursor/listener.js';
import { TypicalLag } from '../../../src/listener/player/typical-lag.js';
import { FakeClock } from '../../kit/clock.js';

const METAINT = 4000;
/** Takes everything at once. */
const SINK = { writableLength: 0, cork: () => {}, uncork: () => {}, write: () => true } as unknown as Socket;
const NOTHING = Buffer.alloc(0);

class Crowd {
  readonly clock = new FakeClock();
  readonly tape = new Tape(METAINT, 4, 60_000, null);
  readonly listeners: Listener[] = [];
  readonly slots: Listener[][] = [[], [], []];
  readonly lag = new TypicalLag(this.clock, this.slots);

  /** So many seconds pass, and their audio comes. @param isServed whether the listeners are written to */
  pass(seconds: number, isServed = true): void {
    for (let i = 0; i < seconds * 10; i++) {
      this.clock.advance(100);
      this.tape.write(Buffer.alloc(METAINT * 0.4, 1), 100);
      if (isServed) for (const listener of this.listeners) listener.advance(this.clock.now());
    }
  }

  join(burstSeconds: number, channel = 'demo'): Listener {
    const cursor = this.tape.joinAt(burstSeconds * 1000);
    const listener = new Listener(SINK, this.tape, {
      channel,
      cursor,
      icy: true,
      session: null,
      nowMs: this.clock.now(),
    });
    this.slots[this.listeners.length % 3]!.push(listener);
    this.listeners.push(listener);
    listener.start(NOTHING, this.clock.now());
    return listener;
  }

  /** Once the last look is too old. */
  later(channel = 'demo'): number | null {
    this.pass(6);
    return this.lag.typicalLagMs(channel);
  }
}

t.test('it is the burst with which they joined, and stays it', async (t) => {
  const crowd = new Crowd();
  t.equal(crowd.lag.typicalLagMs('demo'), null, 'nobody plays');
  crowd.pass(20);
  for (let i = 0; i < 5; i++) crowd.join(5);
  const lagMs = crowd.later()!;
  t.ok(lagMs >= 5000 && lagMs < 7000, `${lagMs} ms`);
  t.equal(crowd.later(), lagMs);
  t.equal(crowd.lag.typicalLagMs('other'), null);
});

t.test('players that report that they stand still are as late as the tape is long, and no later', async (t) => {
  const crowd = new Crowd();
  crowd.pass(20);
  const { player } = crowd.join(5).playback;
  for (let i = 0; i < 15; i++) {
    crowd.pass(9);
    t.ok(player.report(0, crowd.clock.now()));
  }
  t.equal(crowd.later(), 60_000);
});

t.test('it is the median, of each channel for itself', async (t) => {
  const crowd = new Crowd();
  crowd.pass(50);
  for (const seconds of [2, 10, 20, 20]) crowd.join(seconds);
  crowd.join(2, 'other');
  const [demo, other] = [crowd.later()!, crowd.later('other')!];
  t.ok(demo >= 20_000 && demo < 22_000, `${demo} ms`);
  t.ok(other >= 2000 && other < 7000, `${other} ms`);
  for (let i = 0; i < 5; i++) crowd.join(10);
  const after = crowd.later()!;
  t.ok(after >= 10_000 && after < 12_000, `${after} ms`);
});

t.test('a stall stays: who had nothing to play does not catch up', async (t) => {
  const crowd = new Crowd();
  crowd.pass(20);
  crowd.join(5);
  const before = crowd.later()!;
  crowd.pass(20, false);
  const after = crowd.later()!;
  t.ok(after > before + 12_000 && after < before + 20_000, `${before} ms, then ${after} ms`);
});

t.test('who has not begun does not count, nor who has gone', async (t) => {
  const crowd = new Crowd();
  crowd.pass(20);
  const waits = new Listener(SINK, crowd.tape, {
    channel: 'demo',
    cursor: crowd.tape.head,
    icy: true,
    session: null,
    nowMs: 0,
  });
  crowd.slots[0]!.push(waits);
  t.equal(crowd.later(), null);
  crowd.join(5);
  t.ok(crowd.later());
  for (const slot of crowd.slots) slot.length = 0;
  t.equal(crowd.later(), null);
});

t.test(
  'it is looked for at most every five seconds, at 200 listeners of a channel at most, from all parts of the crowd',
  async (t) => {
    const crowd = new Crowd();
    crowd.pass(20);
    let looks = 0;
    const count = ({ playback }: Listener) => {
      const { heardLagMs } = playback;
      playback.heardLagMs = (nowMs) => {
        looks++;
        return heardLagMs.call(playback, nowMs);
      };
    };
    for (let i = 0; i < 200; i++) count(crowd.join(5));
    crowd.later();
    t.equal(looks, 200);
    crowd.pass(4);
    crowd.lag.typicalLagMs('demo');
    t.equal(looks, 200, 'as it was 4 s ago');
    for (let i = 0; i < 801; i++) count(crowd.join(12));
    crowd.later();
    t.equal(looks, 400, 'the first of many');
    const lagMs = crowd.later()!;
    t.ok(looks > 400 && looks <= 600, `${looks - 400} of 1001`);
    t.ok(lagMs >= 12_000 && lagMs < 14_000, 'most of them joined with 12 s');
  },
);
