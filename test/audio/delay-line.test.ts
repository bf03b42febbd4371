/** What waits in a delay line and when it leaves, against a clock that the test moves; and a model of all of it, with seeded sources. */

import t from 'tap';
import { DelayLine } from '../../src/audio/delay-line.js';
import { FakeClock } from '../kit/clock.js';
import { frameOf } from '../kit/frame-of.js';
import { isLong } from '../kit/long.js';
import { Random } from '../kit/random.js';

const FRAME_MS = 25;
const FRAME_BYTES = 400;
/** A look each 140 ms at most, and frames of up to 60 ms. */
const SLACK_MS = 250;
const ROUNDS = isLong ? 40 : 15;

interface Left {
  readonly number: number;
  readonly arrivedMs: number;
  readonly atMs: number;
}

/** A line whose frames carry their number. */
function lineOf(delayMs: number) {
  const clock = new FakeClock(0);
  const left: Left[] = [];
  const line: DelayLine = new DelayLine({
    delayMs,
    clock,
    onFrame: ({ frame: { bytes, arrivedMs } }) =>
      void left.push({ number: bytes.readUInt32BE(), arrivedMs, atMs: clock.now() }),
  });
  let next = 0;
  const push = (count: number, durationMs = FRAME_MS, bytes = FRAME_BYTES) => {
    for (let i = 0; i < count; i++) {
      const frame = frameOf(Buffer.alloc(bytes), durationMs, 128);
      frame.bytes.writeUInt32BE(next++);
      line.push(frame, false);
    }
  };
  /** A source in real time, in pieces of `everyMs`. */
  const play = (ms: number, everyMs = 250) => {
    for (let doneMs = 0; doneMs < ms; doneMs += everyMs) {
      push(everyMs / FRAME_MS);
      clock.advance(everyMs);
    }
  };
  return { clock, left, line, push, play };
}

t.test('it fills for the whole delay, and then each frame leaves about as much later than it came', async (t) => {
  const { clock, left, line, play } = lineOf(4000);
  play(3750);
  t.same([left.length, line.levelMs], [0, 3750]);
  play(60_000);
  const delays = left.map(({ arrivedMs, atMs }) => atMs - arrivedMs);
  // Pieces of 250 ms leave in real time, a look each 120 ms.
  t.ok(Math.min(...delays) >= 4000 - 250 && Math.max(...delays) <= 4000 + 250, `${Math.min(...delays)}`);
  t.ok(line.levelMs > 4000 - 500 && line.levelMs <= 4000, `${line.levelMs}`);
  t.equal(clock.now(), 63_750);
});

t.test('what is ahead of real time leaves at once, but for the delay', async (t) => {
  const { left, line, push } = lineOf(2000);
  push(80);
  t.same([left.length, line.levelMs], [0, 2000], 'at the limit');
  push(1);
  t.same([left.length, line.levelMs], [1, 2000], 'and a frame past it');
  push(400);
  t.equal(left.length, 401);
});

t.test('a source that is lost: real time goes on, to the last frame', async (t) => {
  const { clock, left, line, play } = lineOf(4000);
  play(20_000);
  const from = left.length;
  const levelMs = line.levelMs;
  for (let second = 1; second <= 3; second++) {
    clock.advance(1000);
    const playedMs = (left.length - from) * FRAME_MS;
    t.ok(Math.abs(playedMs - second * 1000) <= 150, `${playedMs} ms after ${second} s`);
    t.equal(line.emptySinceMs, Number.POSITIVE_INFINITY);
  }
  clock.advance(levelMs - 3000 + 200);
  t.same([left.length, line.levelMs], [20_000 / FRAME_MS, 0]);
  t.ok(clock.now() - line.emptySinceMs < 400);
});

t.test('a gap: the level is smaller by it, what is ahead fills it up, and so does time', async (t) => {
  const { clock, left, line, push, play } = lineOf(4000);
  play(20_000);
  clock.advance(1500);
  play(10_000);
  t.ok(Math.abs(line.levelMs - 2500) < 500, `${line.levelMs}`);
  push(2000 / FRAME_MS);
  t.equal(line.levelMs, 4000);
  clock.advance(1500);
  const before = line.levelMs;
  play(1_000_000);
  t.ok(line.levelMs - before > 900, `a thousandth of the time: ${before}, then ${line.levelMs}`);
  // It never waits for more than it has to.
  const gaps = left.slice(1).map(({ atMs }, i) => atMs - left[i]!.atMs);
  t.ok(Math.max(...gaps) <= 160, `${Math.max(...gaps)}`);
});

t.test('empty: audio goes on at once, in real time, or fills the line anew where it begins anew', async (t) => {
  const { clock, left, line, push, play } = lineOf(2000);
  play(10_000);
  clock.advance(30_000);
  t.equal(line.levelMs, 0);
  const from = left.length;
  push(40);
  t.equal(left.length, from + 1);
  clock.advance(500);
  t.ok(Math.abs((left.length - from) * FRAME_MS - 500) <= 125, `${left.length - from} frames in half a second`);
  line.begin();
  clock.advance(600);
  t.equal(left.length, from + 40, 'audio that is there begins nothing');
  clock.advance(1000);
  line.begin();
  push(1);
  clock.advance(1900);
  t.equal(left.length, from + 40);
  clock.advance(200);
  t.equal(left.length, from + 41);
});

t.test(
  'a source that begins while audio of the one before waits: that audio goes on in real time, with no gap',
  async (t) => {
    const { clock, left, line, push, play } = lineOf(4000);
    play(20_000);
    const from = left.length;
    clock.advance(1000);
    line.begin();
    push(10);
    clock.advance(2000);
    const playedMs = (left.length - from) * FRAME_MS;
    t.ok(Math.abs(playedMs - 3000) <= 150, `${playedMs} ms in 3 s`);
  },
);

t.test(
  'a source whose clock is slower does not empty it, and one whose clock is faster does not fill it',
  async (t) => {
    for (const everyMs of [250.05, 249.95]) {
      const { clock, left, line, push } = lineOf(3000);
      for (let i = 0; i < 20_000; i++) {
        push(10);
        clock.advance(everyMs);
      }
      t.ok(line.levelMs > 2200 && line.levelMs <= 3000, `${everyMs}: ${line.levelMs}`);
      t.ok(left.length > 199_000);
    }
  },
);

t.test('what plays hardly anything leaves by its bytes and by its number', async (t) => {
  const heavy = lineOf(2000);
  heavy.push(64, 1, 16 * 1024);
  t.equal(heavy.left.length, 0, '1 MB for two seconds');
  heavy.push(1, 1, 16 * 1024);
  t.equal(heavy.left.length, 1);
  const many = lineOf(2000);
  many.push(2000, 0.5, 4);
  t.equal(many.left.length, 0, '2,000 frames');
  many.push(1, 0.5, 4);
  t.equal(many.left.length, 1);
});

t.test('the place of a moment is behind all that had come in', async (t) => {
  const { clock, line, push } = lineOf(2000);
  t.equal(line.positionAt(clock.now()), null, 'nothing is there');
  const byteAt = (momentMs: number) => line.positionAt(momentMs)?.atByte ?? null;
  clock.advance(40);
  push(2);
  clock.advance(40);
  push(1);
  t.same([39, 40, 79, 80, 500].map(byteAt), [null, 800, 800, 1200, 1200]);
  t.same(line.positionAt(40), { atMs: 2 * FRAME_MS, atByte: 800 });
  t.same(line.end, { atMs: 3 * FRAME_MS, atByte: 1200 });
  t.same(line.out, { atMs: 0, atByte: 0 });
});

t.test(
  'a model: nothing is lost, order is kept, the level never exceeds the delay, and a stall is not heard',
  async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      const random = new Random();
      const delayMs = random.int(1, 200) * 50;
      const { clock, left, line, push } = lineOf(delayMs);
      const durations: number[] = [];
      const came: number[] = [];
      let owedMs = 0;
      for (let step = 0; step < 300; step++) {
        const stepMs = random.int(1, 600);
        const isStalled = random.chance(0.1);
        owedMs += stepMs;
        const before = left.length;
        const levelMs = line.levelMs;
        const hasBegun = before > 0;
        clock.advance(stepMs);
        // Nothing came in this step.
        const playedMs = left.slice(before).reduce((sum, { number }) => sum + durations[number]!, 0);
        if (hasBegun) {
          const minMs = Math.min(levelMs, stepMs / 1.001 - SLACK_MS);
          const what = `seed ${random.seed}: ${playedMs} of ${levelMs} ms in ${stepMs} ms`;
          if (playedMs < minMs || playedMs > stepMs + SLACK_MS) t.fail(what);
        }
        if (isStalled) continue;
        const most = random.chance(0.05) ? owedMs + 3000 : owedMs;
        for (let ms = 0; ms < most; ) {
          const durationMs = random.int(1, 60);
          durations.push(durationMs);
          came.push(clock.now());
          push(1, durationMs, random.int(4, 1500));
          if (line.levelMs > delayMs && delayMs >= durationMs) t.fail(`seed ${random.seed}: ${line.levelMs} ms`);
          ms += durationMs;
        }
        owedMs = 0;
      }
      clock.advance(delayMs * 2 + 1000);
      t.same(
        left.map(({ number }) => number),
        durations.map((_, i) => i),
        `seed ${random.seed}: all of them, in order`,
      );
      t.same(
        left.map(({ arrivedMs }) => arrivedMs),
        came,
        'each with its moment',
      );
      t.equal(line.levelMs, 0);
    }
  },
);
