/** What happens to titles by the clock: held pushes, titles that run out, the fallback title, clocks that are set, restarts. */

import t from 'tap';
import type { PushInput } from '../../src/metadata/push-input.js';
import type { Moment } from '../../src/now-playing/effect.js';
import type { FallbackRules } from '../../src/now-playing/fallback.js';
import { acceptPush, acceptTitle, type PlainTitle } from '../../src/now-playing/now-playing.js';
import type { ChannelState, HistoryEntry } from '../../src/now-playing/state.js';
import type { TrustRules } from '../../src/now-playing/trust.js';
import type { Engine } from '../../src/titles/engine.js';
import { LocalEngine } from '../../src/titles/local.js';
import { Moments } from '../../src/titles/moments.js';
import { TitleScheduler } from '../../src/titles/scheduler.js';
import { FakeClock } from '../kit/clock.js';
import { MemoryStore } from '../kit/memory-store.js';

const HOUR_MS = 3_600_000;
const OWN = { title: { artist: '', song: 'OWN' }, graceSeconds: 5, whenSourceLost: false };

/** One channel of a server, without the server. */
class Harness {
  readonly clock = new FakeClock();
  store = new (class extends MemoryStore {
    failing = false;
    /** What each save waits for. */
    slow: Promise<unknown> = Promise.resolve();
    override async save(channel: string, state: ChannelState, history?: readonly HistoryEntry[]): Promise<void> {
      if (this.failing) throw new Error('full');
      await this.slow;
      await super.save(channel, state, history);
    }
  })();
  fallback: FallbackRules | null = null;
  sourceLost = false;
  holdSeconds = 300;
  /** What stands in the stream that is heard. */
  standing: PlainTitle | null = null;
  trust: TrustRules = {
    titlesFrom: ['metapush', 'encoder', 'upstream'],
    originOnAir: 'encoder',
    pushHoldSeconds: 600,
    graceSeconds: 5,
  };
  /** What was published to readers, with the second (since the beginning) in which it was. */
  published: string[] = [];
  readonly #startMs = this.clock.now();
  #moments = new Moments(this.clock);
  #alive = 0;
  onError = (error: unknown): void => {
    throw error;
  };
  engine!: LocalEngine;
  scheduler!: TitleScheduler;

  constructor() {
    void this.start();
  }

  /** As the server starts; the one before is dead. */
  start(): Promise<void> {
    const life = ++this.#alive;
    const engine = new LocalEngine(
      this.store,
      (_, { record }) => {
        if (life !== this.#alive) return;
        void scheduler.check('a');
        if (record !== null)
          this.published.push(`${record.song} @${((this.clock.now() - this.#startMs) / 1000).toFixed(1)}`);
      },
      () => undefined,
    );
    this.#moments = new Moments(this.clock);
    const scheduler = new TitleScheduler({
      // Another engine may make the state anew each time it is asked.
      engine: { ...bound(engine), state: (channel) => structuredClone(engine.state(channel)) },
      clock: this.clock,
      moments: this.#moments,
      holdSeconds: () => this.holdSeconds,
      fallback: () => this.fallback,
      isSourceLost: () => this.sourceLost,
      streamTitle: () => this.standing,
      trust: () => this.trust,
      onError: (error) => this.onError(error),
    });
    this.engine = engine;
    this.scheduler = scheduler;
    return scheduler.check('a');
  }

  async push(input: Partial<PushInput> & { in?: number }): Promise<void> {
    const { in: seconds, ...rest } = input;
    const timeSeconds = seconds === undefined ? {} : { timeSeconds: Math.floor(this.clock.wallMs() / 1000) + seconds };
    const push = { type: 'now' as const, artist: '', song: '', ...rest, ...timeSeconds };
    const rules = { holdSeconds: this.holdSeconds, heldPushes: 64 };
    await this.engine.update('a', (state) => acceptPush(state, push, this.#at, rules).change);
  }

  get #at(): Moment {
    return {
      channel: 'a',
      wallMs: this.clock.wallMs(),
      newId: () => 'made',
      ageMs: (now) => this.#moments.ageMs('a', now),
    };
  }

  async title(song: string): Promise<void> {
    const title = { artist: '', song, source: 'encoder' } as const;
    this.standing = title;
    await this.engine.update('a', (state) => acceptTitle(state, title, this.#at, this.trust));
  }

  /** Time goes by; once a second housekeeping checks. */
  async pass(seconds: number): Promise<void> {
    for (let left = seconds * 1000; left > 0; left -= 200) {
      this.clock.advance(Math.min(200, left));
      if (Math.round(left / 200) % 5 === 0) {
        void this.scheduler.check('a');
        await this.scheduler.checkSource('a');
      }
      await new Promise((done) => setImmediate(done));
    }
  }

  get songs(): string[] {
    return this.published.map((one) => one.split(' @')[0]!);
  }
}

const bound = (engine: LocalEngine): Engine => ({
  state: (channel) => engine.state(channel),
  update: (channel, decide) => engine.update(channel, (state) => decide(structuredClone(state))),
  close: () => engine.close(),
});

/** The second in which the last record was published. */
const whenPublished = (harness: Harness) => Number(harness.published.at(-1)!.split('@')[1]);

t.test('a source that is back before its loss is saved has its title taken', async (t) => {
  const harness = new Harness();
  harness.fallback = { ...OWN, whenSourceLost: true };
  await harness.title('one');
  let save = (): void => undefined;
  harness.store.slow = new Promise<void>((done) => (save = done));
  harness.sourceLost = true;
  const lost = harness.scheduler.checkSource('a');
  harness.sourceLost = false;
  const found = harness.scheduler.checkSource('a');
  const title = harness.title('two');
  save();
  await Promise.all([lost, found, title]);
  t.strictSame(harness.songs, ['one', 'OWN', 'one', 'two']);
  await harness.pass(3);
  t.equal(harness.songs.length, 4);
});

t.test('a held push takes effect at its moment', async (t) => {
  const harness = new Harness();
  await harness.push({ song: 'one' });
  await harness.push({ song: 'three', in: 20 });
  await harness.push({ song: 'two', in: 10 });
  await harness.pass(9.8);
  t.same(harness.songs, ['one']);
  await harness.pass(0.4);
  t.same(harness.songs, ['one', 'two']);
  t.ok(whenPublished(harness) - 10 < 0.1, `not a check later: ${harness.published}`);
  await harness.pass(10);
  t.same(harness.songs, ['one', 'two', 'three']);
});

t.test('the wall clock is set while a push is held', async (t) => {
  for (const [name, stepMs, fromS, toS] of [
    ['an hour ahead: its time has passed', HOUR_MS, 5, 6.3],
    ['an hour back: no later than it would have come', -HOUR_MS, 20, 21.3],
    ['a little back: it waits for its time', -600, 20.5, 20.9],
  ] as const) {
    const harness = new Harness();
    await harness.push({ song: 'on air', durationSeconds: 1000 });
    await harness.push({ song: 'held', in: 20 });
    await harness.pass(5);
    harness.clock.stepWall(stepMs);
    await harness.pass(30);
    t.same(harness.songs, ['on air', 'held'], name);
    t.ok(whenPublished(harness) >= fromS && whenPublished(harness) <= toS, `${name}: ${harness.published}`);
    await harness.push({ song: 'after', in: 3 });
    await harness.pass(5);
    t.equal(harness.songs.at(-1), 'after', `${name}: titles go on`);
  }
});

t.test('a title runs out by the monotonic clock', async (t) => {
  for (const stepMs of [0, HOUR_MS, -HOUR_MS]) {
    const harness = new Harness();
    harness.fallback = OWN;
    await harness.push({ song: 'S', durationSeconds: 30 });
    await harness.pass(3);
    harness.clock.stepWall(stepMs);
    await harness.pass(31.8);
    t.same(harness.songs, ['S'], `clock set by ${stepMs}`);
    await harness.pass(0.4);
    t.same(harness.songs, ['S', 'OWN'], `clock set by ${stepMs}: ${harness.published}`);
    t.ok(whenPublished(harness) - 35 < 0.1, `${harness.published}`);
    await harness.pass(100);
    await harness.push({ song: 'S', durationSeconds: 30 });
    t.same(harness.songs, ['S', 'OWN', 'S'], 'pushed again: a new record');
  }
  const harness = new Harness();
  harness.fallback = OWN;
  await harness.push({ song: 'S' });
  await harness.pass(100);
  t.same(harness.songs, ['S'], 'without a duration: never');
  await harness.push({ song: 'S', durationSeconds: 120 });
  await harness.pass(24.6);
  t.same(harness.songs, ['S', 'S'], 'a correction of the duration counts from when the title took effect');
  await harness.pass(1);
  t.same(harness.songs, ['S', 'S', 'OWN']);
  const none = new Harness();
  await none.push({ song: 'S', durationSeconds: 1 });
  await none.pass(20);
  t.same(none.songs, ['S'], 'a channel without a fallback title');
});

t.test('the wall clock is set: a title has been in force for as long as it has', async (t) => {
  for (const stepMs of [HOUR_MS, -HOUR_MS]) {
    const name = `clock set by ${stepMs}`;
    const harness = new Harness();
    harness.fallback = OWN;
    await harness.push({ song: 'S' });
    await harness.pass(20);
    harness.clock.stepWall(stepMs);
    await harness.push({ song: 'S', durationSeconds: 60 });
    await harness.pass(44.8);
    t.same(harness.songs, ['S', 'S'], `${name}: a duration that comes as a correction`);
    await harness.pass(0.4);
    t.same(harness.songs, ['S', 'S', 'OWN'], name);

    const repeats = new Harness();
    await repeats.push({ song: 'S', durationSeconds: 60 });
    await repeats.pass(10);
    repeats.clock.stepWall(stepMs);
    await repeats.push({ song: 'S', durationSeconds: 60 });
    t.same(repeats.songs, ['S'], `${name}: a repeat is one`);
    await repeats.pass(51);
    await repeats.push({ song: 'S', durationSeconds: 60 });
    t.same(repeats.songs, ['S', 'S'], `${name}: but a new record after its duration`);

    const live = new Harness();
    await live.title('Live');
    await live.push({ song: 'P', durationSeconds: 60 });
    await live.pass(10);
    live.clock.stepWall(stepMs);
    await live.title('Too early');
    await live.pass(54.6);
    t.same(live.songs, ['Live', 'P'], `${name}: a push keeps its time`);
    await live.pass(0.8);
    t.same(live.songs, ['Live', 'P', 'Too early'], name);
  }
});

t.test('a push set aside by a clock that went back comes in its time, whatever is pushed meanwhile', async (t) => {
  const harness = new Harness();
  await harness.push({ song: 'held', in: 20 });
  await harness.pass(5);
  harness.clock.stepWall(-HOUR_MS);
  for (let i = 0; i < 4; i++) {
    await harness.push({ song: `${i}` });
    await harness.pass(5);
  }
  t.ok(harness.songs.includes('held'), `${harness.published}`);
});

t.test('a push that is held again is held by the clock as it stands then', async (t) => {
  const harness = new Harness();
  const timeSeconds = Math.floor(harness.clock.wallMs() / 1000) + 20;
  await harness.push({ song: 'held', id: 'x', timeSeconds });
  await harness.push({ song: 'at once', id: 'x' });
  harness.clock.stepWall(-100_000);
  await harness.push({ song: 'held', id: 'x', timeSeconds });
  await harness.pass(119.8);
  t.same(harness.songs, ['at once']);
  await harness.pass(0.4);
  t.same(harness.songs, ['at once', 'held']);
});

t.test('the title in the stream returns after a push', async (t) => {
  const harness = new Harness();
  await harness.title('Live');
  await harness.push({ song: 'P', durationSeconds: 30 });
  await harness.pass(34.8);
  t.same(harness.songs, ['Live', 'P']);
  await harness.pass(0.4);
  t.same(harness.songs, ['Live', 'P', 'Live']);
  t.ok(whenPublished(harness) - 35 < 0.1, `by an alarm: ${harness.published}`);
  await harness.push({ song: 'Q' });
  await harness.title('Live later');
  await harness.pass(601);
  t.same(harness.songs, ['Live', 'P', 'Live', 'Q', 'Live later'], 'as it stands by then');
  await harness.push({ song: 'R', durationSeconds: 30 });
  await harness.push({ song: 'S', in: 35, durationSeconds: 30 });
  await harness.pass(36);
  t.same(harness.songs.slice(5), ['R', 'S'], 'a held push comes first');
  harness.standing = null;
  await harness.pass(1000);
  t.same(harness.songs.slice(5), ['R', 'S'], 'no title stands in the stream: the record stays');

  const own = new Harness();
  own.fallback = OWN;
  await own.title('Live');
  await own.push({ song: 'P', durationSeconds: 30 });
  await own.pass(40);
  t.same(own.songs, ['Live', 'P', 'Live'], 'before the fallback title, which is for when there is no better one');
  await own.push({ song: 'Live', durationSeconds: 30 });
  await own.pass(40);
  t.same(own.songs.slice(3), ['Live', 'OWN'], 'but a title that has run out does not return');
  own.fallback = { ...OWN, whenSourceLost: true };
  await own.push({ song: 'P', durationSeconds: 30 });
  own.sourceLost = true;
  await own.pass(40);
  t.same(own.songs.slice(5), ['P', 'OWN'], 'nor does any while the source is lost');
});

t.test('while the source is lost', async (t) => {
  const harness = new Harness();
  harness.fallback = { ...OWN, whenSourceLost: true };
  await harness.push({ song: 'S', durationSeconds: 60 });
  harness.sourceLost = true;
  await harness.scheduler.checkSource('a');
  await harness.scheduler.checkSource('a');
  t.same(harness.songs, ['S', 'OWN']);
  await harness.push({ song: 'T', durationSeconds: 60, id: 't' });
  await harness.push({ song: 'U', in: 10, durationSeconds: 30, id: 'u' });
  t.same(harness.songs, ['S', 'OWN'], 'pushes wait behind it');
  await harness.pass(5);
  harness.sourceLost = false;
  await harness.scheduler.checkSource('a');
  t.same(harness.songs, ['S', 'OWN', 'T'], 'the last real one returns');
  harness.sourceLost = true;
  await harness.pass(20);
  t.same(harness.songs, ['S', 'OWN', 'T', 'OWN']);
  harness.sourceLost = false;
  await harness.pass(2);
  t.same(harness.songs, ['S', 'OWN', 'T', 'OWN', 'U'], 'one that was held meanwhile');
  harness.sourceLost = true;
  await harness.pass(40);
  harness.sourceLost = false;
  await harness.pass(5);
  t.same(harness.songs, ['S', 'OWN', 'T', 'OWN', 'U', 'OWN'], 'unless it has run out');
  t.same(
    harness.store.history('a', { limit: 9 }).map(({ record }) => record.song),
    [...harness.songs].reverse(),
    'history says what was seen',
  );

  const restarted = new Harness();
  restarted.fallback = { ...OWN, whenSourceLost: true };
  await restarted.push({ song: 'S' });
  restarted.sourceLost = true;
  await restarted.pass(2);
  restarted.fallback = null;
  await restarted.start();
  await restarted.pass(2);
  t.same(restarted.songs, ['S', 'OWN', 'S'], 'the option was taken out: the title is given back');
});

t.test('a restart', async (t) => {
  const down = async (harness: Harness, seconds: number) => {
    harness.engine = undefined as never;
    const before = harness.scheduler;
    harness.clock.stepWall(seconds * 1000);
    await harness.start();
    t.not(harness.scheduler, before);
  };
  const harness = new Harness();
  harness.fallback = OWN;
  await harness.push({ song: 'one' });
  for (const [song, seconds] of [
    ['four', 100],
    ['two', 10],
    ['three', 20],
  ] as const) {
    await harness.push({ song, in: seconds, durationSeconds: 30 });
  }
  await down(harness, 60);
  t.same(harness.songs, ['one', 'two', 'three'], 'what came due meanwhile takes effect at start, in order');
  await harness.pass(34);
  t.equal(harness.songs.at(-1), 'three', 'its duration counts from when it took effect');
  await harness.pass(2);
  t.equal(harness.songs.at(-1), 'OWN');
  await harness.pass(5);
  t.equal(harness.songs.at(-1), 'four', 'the others at their time');
  t.match(whenPublished(harness), 40, `${harness.published}`);

  const half = new Harness();
  half.fallback = OWN;
  await half.push({ song: 'S', durationSeconds: 60 });
  await half.pass(10);
  await down(half, 30);
  await half.pass(24.8);
  t.same(half.songs, ['S'], 'the time before the restart counts by the wall clock');
  await half.pass(0.4);
  t.same(half.songs, ['S', 'OWN']);
  const over = new Harness();
  over.fallback = OWN;
  await over.push({ song: 'S', durationSeconds: 60 });
  await down(over, 1000);
  t.same(over.songs, ['S', 'OWN'], 'it ran out meanwhile');
  over.fallback = { ...OWN, title: { artist: '', song: 'NEW' } };
  await down(over, 5);
  t.same(over.songs, ['S', 'OWN', 'NEW'], 'the fallback title has other words in the configuration now');
  await over.pass(5);
  t.equal(over.published.length, 3);
  over.fallback = { ...OWN, title: { artist: 'ANNA', song: 'NEW' } };
  await down(over, 5);
  t.same(over.songs, ['S', 'OWN', 'NEW', 'NEW'], 'or another artist');
  const back = new Harness();
  back.fallback = OWN;
  await back.push({ song: 'S', durationSeconds: 60 });
  await back.push({ song: 'held', in: 50 });
  await down(back, -3600);
  await back.pass(64);
  t.same(back.songs, ['S'], 'a clock that went back meanwhile starts it anew');
  await back.pass(250);
  t.same(back.songs, ['S', 'OWN', 'held'], 'and a held push waits no longer than pushes may be held');
});

t.test('a check does not reject: what goes wrong is reported', async (t) => {
  const harness = new Harness();
  const errors: unknown[] = [];
  harness.onError = (error) => errors.push(error);
  harness.store.load = () => {
    throw new Error('cannot be read');
  };
  await harness.start();
  await harness.scheduler.checkSource('a');
  t.match(errors, [{ message: 'cannot be read' }, { message: 'cannot be read' }]);
});

t.test('what the store refuses is tried again', async (t) => {
  const harness = new Harness();
  harness.fallback = OWN;
  await harness.push({ song: 'one', durationSeconds: 1000 });
  await harness.push({ song: 'two', in: 5, durationSeconds: 5 });
  harness.store.failing = true;
  await harness.pass(8);
  t.same(harness.songs, ['one']);
  harness.store.failing = false;
  await harness.pass(2);
  t.same(harness.songs, ['one', 'two']);
  harness.store.failing = true;
  await harness.pass(20);
  harness.store.failing = false;
  await harness.pass(2);
  t.same(harness.songs, ['one', 'two', 'OWN']);
});
