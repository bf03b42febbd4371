/** Titles for readers, later than their effect: against a model, with random pushes, corrections and nexts, by a clock that the test moves. */

import t from 'tap';
import { TICK_MS } from '../../src/base/clock.js';
import { Feed, type Message } from '../../src/feed/feed.js';
import { ReaderDelay } from '../../src/titles/reader-delay.js';
import { FakeClock } from '../kit/clock.js';
import { Random } from '../kit/random.js';
import { FACE, viewOf } from '../kit/record.js';

const MOST = 4;

/** A feed with a reader, and what delays it. */
class DelayedReader {
  readonly clock = new FakeClock();
  readonly feed = new Feed();
  delayMs = 3000;
  readonly delay: ReaderDelay;
  /** What the reader was sent, and when. */
  readonly sent: { readonly song: string; readonly type: string; readonly atMs: number }[] = [];
  #version = 0;

  constructor() {
    this.feed.change(new Map([['demo', [FACE, { ...FACE, key: 'other' }]]]));
    const { feed, clock } = this;
    this.delay = new ReaderDelay({ feed, clock, max: () => MOST, onDropped: () => undefined });
    const onMessage = ({ json }: Message) => {
      const { song, type } = JSON.parse(json) as { song: string; type: string };
      // That a next was dropped: test/behaviour/dropped-next.test.ts.
      if (song !== '') this.sent.push({ song, type, atMs: clock.now() });
    };
    feed.watchStation('demo', { onMessage });
  }

  /** A record takes effect. @param play the same number: the same title @returns its version */
  take(type: 'now' | 'next', song: string, play: number, spendsNext = true): number {
    const stamp = this.feed.sequence.issue(this.clock.wallMs());
    const version = ++this.#version;
    const view = viewOf(song, { type, id: `id ${play}`, effectAtMs: play, version, stamp });
    if (type === 'now') this.delay.now(view, this.delayMs, spendsNext);
    else this.delay.next(view);
    this.feed.sequence.settle(stamp);
    return version;
  }

  get now(): string | undefined {
    return this.feed.last('demo', 'now')?.record.song;
  }

  get next(): string | undefined {
    return this.feed.last('demo', 'next')?.record.song;
  }
}

t.test('a title comes when its delay is over, and its next stays until then', async (t) => {
  const one = new DelayedReader();
  one.take('next', 'A', 1);
  t.equal(one.next, 'A', 'a next passes at once');
  const version = one.take('now', 'A', 1);
  t.ok(one.delay.isWaiting('demo', version));
  one.clock.advance(2900);
  t.same([one.now, one.next], [undefined, 'A']);
  one.clock.advance(100 + TICK_MS);
  t.same([one.now, one.next], ['A', undefined]);
  t.notOk(one.delay.isWaiting('demo', version));

  one.delayMs = 0;
  t.notOk(one.delay.isWaiting('demo', one.take('now', 'B', 2)));
  t.equal(one.now, 'B', 'without a delay at once');
  one.delayMs = -500;
  one.take('now', 'C', 3);
  t.equal(one.now, 'C', 'nor with less than none');
});

t.test('a title that waits has the name that the channel has when its delay is over', async (t) => {
  const one = new DelayedReader();
  one.take('now', 'A', 1);
  one.feed.change(new Map([['demo', [{ ...FACE, name: 'Renamed' }]]]));
  one.clock.advance(3000 + TICK_MS);
  t.match(JSON.parse(one.feed.last('demo', 'now')!.json), { song: 'A', channel: 'Renamed' });
});

t.test('a next that comes while a title waits stays', async (t) => {
  const one = new DelayedReader();
  one.take('next', 'A', 1);
  one.take('now', 'A', 1);
  one.take('next', 'B', 2);
  t.equal(one.next, 'B');
  one.clock.advance(4000);
  t.same([one.now, one.next], ['A', 'B']);
  one.take('now', 'X', 3, false);
  one.delay.dropNext('demo');
  t.equal(one.next, 'B', 'dropped with what waits');
  one.clock.advance(4000);
  t.same([one.now, one.next], ['X', undefined]);
  one.take('next', 'C', 4);
  one.delay.dropNext('demo');
  t.equal(one.next, undefined, 'or at once');
});

t.test('corrections: of what waits in its place, of what is in force at once', async (t) => {
  const one = new DelayedReader();
  const wrong = one.take('now', 'wrong', 1);
  one.clock.advance(2000);
  const right = one.take('now', 'right', 1);
  t.same([one.delay.isWaiting('demo', wrong), one.delay.isWaiting('demo', right)], [false, true]);
  one.clock.advance(1000 + TICK_MS);
  t.equal(one.now, 'right');
  one.take('now', 'better', 1);
  t.equal(one.now, 'better');
  t.same(
    one.sent.map(({ song }) => song),
    ['right', 'better'],
  );
});

t.test('a title that returns behind another one that waits is delayed as that is', async (t) => {
  const one = new DelayedReader();
  one.take('now', 'A', 1);
  one.clock.advance(4000);
  one.take('now', 'own', 2);
  one.clock.advance(2000);
  one.take('now', 'A', 1);
  one.clock.advance(1000 + TICK_MS);
  t.equal(one.now, 'own');
  one.clock.advance(2000);
  t.equal(one.now, 'A');
});

t.test('past so many that wait the first is published', async (t) => {
  const one = new DelayedReader();
  for (let i = 0; i < MOST; i++) one.take('now', `${i}`, i);
  t.equal(one.now, undefined);
  one.take('now', 'one more', MOST);
  t.equal(one.now, '0');
  one.clock.advance(4000);
  t.equal(one.now, 'one more');
});

t.test('a reader that comes back has seen what it was sent, and gets what waited', async (t) => {
  const one = new DelayedReader();
  one.take('now', 'waits', 1);
  one.take('next', 'passes', 2);
  const seen: string[] = [];
  let id = '';
  const watcher = () => ({
    onMessage: ({ json }: Message) => void seen.push((JSON.parse(json) as { song: string }).song),
    onFirsts: (firsts: { next(): Message | null; readonly id: string }) => {
      for (let message = firsts.next(); message !== null; message = firsts.next()) {
        seen.push((JSON.parse(message.json) as { song: string }).song);
      }
      id = firsts.id;
    },
  });
  one.feed.watchChannel('demo', watcher())();
  one.clock.advance(4000);
  one.feed.watchChannel('demo', watcher(), id)();
  t.same(seen, ['passes', 'waits'], 'each once');
});

t.test('random changes: each now in its turn at its moment, the newest never lost', async (t) => {
  const random = new Random();
  for (let run = 0; run < 60; run++) {
    const one = new DelayedReader();
    /** What should be seen: of each now its song, moment and whether it spends the next. */
    const waiting: { song: string; play: number; dueMs: number; spends: boolean }[] = [];
    let [now, next]: [{ song: string; play: number } | undefined, string | undefined] = [undefined, undefined];
    const expected: string[] = [];
    let play = 0;
    const publish = () => {
      const { song, play, spends } = waiting.shift()!;
      now = { song, play };
      if (spends) next = undefined;
      expected.push(song);
    };
    for (let step = 0; step < 60; step++) {
      const song = `${run}.${step}`;
      const kind = random.int(0, 9);
      if (kind < 3) {
        one.delayMs = random.int(0, 7) * TICK_MS * 10;
        const spends = random.chance(0.5);
        one.take('now', song, ++play, spends);
        const lastMs = waiting.at(-1)?.dueMs ?? 0;
        waiting.push({ song, play, dueMs: Math.max(one.clock.now() + one.delayMs, lastMs), spends });
        if (waiting.length > MOST || (waiting.length === 1 && one.delayMs === 0)) publish();
      } else if (kind < 4 && play > 0) {
        const spends = random.chance(0.5);
        one.take('now', song, play, spends);
        const last = waiting.at(-1);
        if (last !== undefined) Object.assign(last, { song, spends: last.spends || spends });
        else {
          now = { song, play };
          if (spends) next = undefined;
          expected.push(song);
        }
      } else if (kind < 6) {
        one.take('next', song, 1000 + step);
        next = song;
        for (const title of waiting) title.spends = false;
        expected.push(song);
      } else if (kind < 7) {
        one.delay.dropNext('demo');
        const last = waiting.at(-1);
        if (last === undefined) next = undefined;
        else last.spends = true;
      } else {
        const untilMs = one.clock.now() + random.int(0, 59) * TICK_MS;
        while (one.clock.now() < untilMs) {
          one.clock.advance(TICK_MS);
          while (waiting.length > 0 && waiting[0]!.dueMs <= one.clock.now()) publish();
        }
      }
      t.same([one.now, one.next], [now?.song, next], `seed ${random.seed}, run ${run}, step ${step}`);
    }
    one.clock.advance(10_000);
    while (waiting.length > 0) publish();
    t.same(
      one.sent.map(({ song }) => song),
      expected,
      `seed ${random.seed}, run ${run}`,
    );
  }
});
