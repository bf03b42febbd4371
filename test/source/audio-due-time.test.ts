/** When more audio of a source is due: pieces, bursts, claims that cannot be true, and a seeded random life against what must hold. */

import t from 'tap';
import { AudioDueTime } from '../../src/source/audio-due-time.js';
import { Random } from '../kit/random.js';

const MAX_MS = 10_000;

t.test('a piece is due when the one before has been played, however it came', async (t) => {
  const due = new AudioDueTime({ pieceMs: MAX_MS });
  t.equal(due.atMs, Number.NEGATIVE_INFINITY);
  for (let nowMs = 1000; nowMs < 20_000; nowMs += 1600) {
    for (let i = 0; i < 64; i++) due.add(25, nowMs);
    t.equal(due.atMs, nowMs + 1600);
  }
  due.reset();
  t.equal(due.atMs, Number.NEGATIVE_INFINITY);
  due.add(26, 50_000);
  t.equal(due.atMs, 50_026);
});

t.test(
  'a source that fills pages is waited for as long as the next page may be, and no longer than the longest piece',
  async (t) => {
    const due = new AudioDueTime({ pieceMs: MAX_MS });
    due.add(1500, 0, 5900);
    t.equal(due.atMs, 7400);
    due.add(5900, 7000, 5900);
    t.equal(due.atMs, 7000 + MAX_MS);
    due.add(20, 20_000);
    t.equal(due.atMs, 20_020, 'the page is no audio in hand');
  },
);

t.test('a burst is forgotten a fifth faster than it plays: real time behind it is due frame by frame', async (t) => {
  const due = new AudioDueTime({ pieceMs: MAX_MS });
  due.add(8000, 0);
  const dueIn = (untilMs: number, fromMs: number) => {
    for (let nowMs = fromMs + 20; nowMs <= untilMs; nowMs += 20) due.add(20, nowMs);
    return due.atMs - untilMs;
  };
  t.ok(Math.abs(dueIn(20_000, 0) - 4000) < 100, 'half of it after 20 s');
  t.ok(dueIn(41_000, 20_000) < 30, 'all of it after 40 s');
});

t.test('never later than the longest piece, at the limit and past it, whatever is claimed', async (t) => {
  for (const [claimMs, is] of [
    [MAX_MS - 1, MAX_MS - 1],
    [MAX_MS, MAX_MS],
    [MAX_MS + 1, MAX_MS],
    [9 * 3_600_000, MAX_MS],
    [Number.POSITIVE_INFINITY, MAX_MS],
  ] as const) {
    const due = new AudioDueTime({ pieceMs: MAX_MS });
    due.add(claimMs, 500);
    t.equal(due.atMs, 500 + is);
    due.add(claimMs, 600);
    t.ok(due.atMs <= 600 + MAX_MS);
    due.add(20, 30_000);
    t.equal(due.atMs, 30_020, 'and nothing of it is left');
  }
});

t.test('a random life: a source that keeps time is never 1.5 s late, one that stops is always found', async (t) => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = new Random(seed);
    const due = new AudioDueTime({ pieceMs: MAX_MS });
    const startMs = random.int(0, 1_000_000);
    let nowMs = startMs;
    let sentMs = 0;
    let pieceMs = 0;
    const burstMs = random.chance(0.3) ? random.int(0, 20_000) : 0;
    if (burstMs > 0) due.add(burstMs, nowMs);
    let worstMs = 0;
    for (let piece = 0; piece < 60; piece++) {
      pieceMs = random.int(20, 7500);
      const reads = random.int(1, 30);
      const spanMs = random.next() * pieceMs;
      const fromMs = startMs + sentMs;
      for (let read = 0; read < reads; read++) {
        nowMs = Math.max(nowMs, fromMs + (spanMs * read) / reads);
        if (piece > 0) worstMs = Math.max(worstMs, nowMs - due.atMs);
        due.add(pieceMs / reads, nowMs);
      }
      sentMs += pieceMs;
    }
    if (worstMs > 1500) t.fail(`seed ${seed}: ${worstMs} ms late`);
    const lateMs = due.atMs - nowMs;
    if (!(lateMs > 0 && lateMs <= MAX_MS)) t.fail(`seed ${seed}: due in ${lateMs} ms`);
  }
  t.pass('300 seeds');
});
