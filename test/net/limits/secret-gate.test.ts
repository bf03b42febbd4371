/** Where secrets are compared: at each limit and one past it, how slow a guesser is, and what a guesser with many addresses gets. */

import t from 'tap';
import { SecretGate, type SecretLimits } from '../../../src/net/limits/secret-gate.js';
import type { SecretVerdict } from '../../../src/net/limits/secret-queue.js';
import { FakeClock } from '../../kit/clock.js';
import { Random } from '../../kit/random.js';

class Bench {
  readonly clock = new FakeClock();
  readonly gate: SecretGate;
  /** What was compared, in order. */
  readonly looked: string[] = [];

  /** @param random without it, the first who asks for a place keeps it */
  constructor(limits: Partial<SecretLimits> = {}, random: () => number = () => 0.999) {
    const usual = { perMinute: 3, inAllPerMinute: 600, maxOfOrigin: 2, remembered: 100 };
    this.gate = new SecretGate(this.clock, { ...usual, ...limits }, random);
  }

  /** A secret is right that begins with "right". The verdict is undefined until it is known. */
  ask(origin: string, secret: string) {
    const asked: { verdict?: SecretVerdict; retrySeconds?: number; atMs?: number; leave(): void } = {
      leave: () => undefined,
    };
    const compare = () => {
      this.looked.push(secret);
      return secret.startsWith('right');
    };
    const waiting = this.gate.check(origin, compare, (verdict, retrySeconds) => {
      Object.assign(asked, { verdict, retrySeconds, atMs: this.clock.now() });
    });
    asked.leave = () => waiting?.leave();
    return asked;
  }

  verdicts(origin: string, ...secrets: string[]): (SecretVerdict | undefined)[] {
    return secrets.map((secret) => this.ask(origin, secret).verdict);
  }
}

t.test('within the limit all are looked at at once, and right ones do not count', async (t) => {
  const bench = new Bench();
  t.same(bench.verdicts('a', 'w1', 'right', 'right', 'w2', 'right', 'w3'), [
    ...['wrong', 'right', 'right', 'wrong', 'right', 'wrong'],
  ]);
  const late = bench.ask('a', 'right');
  t.equal(late.verdict, undefined, 'past it a right one waits too');
  t.same(bench.verdicts('b', 'w', 'right'), ['wrong', 'right'], 'another address does not');
  bench.clock.advance(960);
  t.equal(late.verdict, undefined);
  bench.clock.advance(80);
  t.equal(late.verdict, 'right');
});

t.test('past it one a second, in order, right or wrong alike; a full queue says when to come back', async (t) => {
  const bench = new Bench();
  bench.verdicts('a', 'w', 'w', 'w');
  const [wrong, right, over] = [bench.ask('a', 'w4'), bench.ask('a', 'right4'), bench.ask('a', 'right5')];
  t.equal(over.verdict, undefined, 'one past the line hears so at the next turn');
  t.equal(bench.gate.waiting, 3);
  const startMs = bench.clock.now();
  bench.clock.advance(1040);
  t.match(over, { verdict: 'too-many', retrySeconds: 1 });
  t.notOk(bench.looked.includes('right5'));
  t.match([wrong.verdict, right.verdict], ['wrong', undefined]);
  const next = bench.ask('a', 'right6');
  bench.clock.advance(5000);
  t.match([right.verdict, next.verdict], ['right', 'right']);
  for (const [i, asked] of [wrong, right, next].entries()) {
    const dueMs = 1000 * (i + 1);
    t.ok(
      Math.abs(asked.atMs! - startMs - dueMs) <= 40 * (i + 1),
      `${asked.atMs! - startMs} ms for the turn after ${dueMs}`,
    );
  }
  t.equal(bench.gate.waiting, 0);
});

t.test('number 3,001 of 4,000 guesses is right, and is found after most of an hour', async (t) => {
  const bench = new Bench({ perMinute: 60, maxOfOrigin: 8, inAllPerMinute: 600 });
  const startMs = bench.clock.now();
  let found: number | undefined;
  for (let i = 0; found === undefined && i < 4000; i++) {
    const guess = bench.ask('a', i === 3000 ? 'right' : 'w');
    // As fast as the answers come.
    while (guess.verdict === undefined) bench.clock.advance(40);
    if (guess.verdict === 'right') found = bench.clock.now() - startMs;
  }
  t.ok(found! > 45 * 60_000, `${found} ms`);
});

t.test('who goes leaves the line, and who comes at once after another waits as well', async (t) => {
  const bench = new Bench();
  bench.verdicts('a', 'w', 'w', 'w');
  const [first, second] = [bench.ask('a', 'w4'), bench.ask('a', 'right')];
  const over = bench.ask('a', 'w5');
  t.equal(bench.gate.waiting, 3);
  over.leave();
  first.leave();
  first.leave();
  t.equal(bench.gate.waiting, 1);
  const third = bench.ask('a', 'right');
  t.equal(third.verdict, undefined, 'its place was free');
  bench.clock.advance(1040);
  t.match([first.verdict, second.verdict], [undefined, 'right']);
  t.notOk(bench.looked.includes('w4'));
  bench.gate.close();
  t.equal(third.verdict, 'too-many', 'a stop answers who waits');
  t.equal(bench.gate.waiting, 0);
});

t.test('after a while without wrong ones none waits', async (t) => {
  const bench = new Bench();
  bench.verdicts('a', 'w', 'w', 'w');
  bench.clock.advance(60_000);
  t.same(bench.verdicts('a', 'w', 'w', 'right', 'w'), ['wrong', 'wrong', 'right', 'wrong']);
  t.equal(bench.ask('a', 'w').verdict, undefined);
});

t.test('no line at all', async (t) => {
  const bench = new Bench({ maxOfOrigin: 0 });
  t.same(bench.verdicts('a', 'w', 'w', 'w', 'right'), ['wrong', 'wrong', 'wrong', 'too-many']);
});

t.test('a guesser with a thousand addresses is as slow as all of them may be', async (t) => {
  const bench = new Bench({ perMinute: 60, inAllPerMinute: 60, remembered: 20, maxOfOrigin: 8 });
  t.equal(bench.ask('customer', 'right').verdict, 'right');
  t.equal(bench.ask('other', 'right').verdict, 'right');
  bench.looked.length = 0;
  let [asked, most] = [0, 0];
  const startMs = bench.clock.now();
  while (bench.clock.now() - startMs < 60_000) {
    for (let i = 0; i < 50; i++) bench.ask(`x${asked++ % 1000}`, 'w');
    most = Math.max(most, bench.gate.waiting);
    bench.clock.advance(40);
  }
  const wrong = bench.looked.length;
  t.ok(wrong >= 60 && wrong <= 2 * 60 + 1, `${wrong} were looked at in a minute`);
  t.ok(most <= 16, `${most} waited, as many without a place as with one`);
  t.equal(bench.ask('customer', 'right').verdict, 'right', 'a client that has sent a right one before notices nothing');
  t.not(bench.ask('new', 'right').verdict, 'right', 'who has not is late');
  t.same(bench.verdicts('customer', ...Array<string>(60).fill('w')).at(-1), 'wrong');
  t.equal(bench.ask('customer', 'right').verdict, undefined, 'its own limit holds for it all the same');
  t.equal(bench.ask('other', 'right').verdict, 'right');
});

t.test('no more wait in all, and no more are remembered, than may', async (t) => {
  const bench = new Bench({ perMinute: 1, inAllPerMinute: 1_000_000, remembered: 3, maxOfOrigin: 2 });
  for (const origin of ['a', 'b', 'c']) bench.verdicts(origin, 'w');
  const asked = ['a', 'b', 'c'].map((origin) => bench.ask(origin, 'w'));
  t.equal(bench.ask('a', 'w').verdict, 'too-many', 'at once');
  t.equal(bench.gate.waiting, 3);
  bench.clock.advance(1040);
  t.same(
    asked.map(({ verdict }) => verdict),
    ['wrong', 'wrong', 'wrong'],
  );
});

t.test('past what is remembered, the address whose last right secret is oldest is forgotten', async (t) => {
  const bench = new Bench({ inAllPerMinute: 1, remembered: 2 });
  for (const origin of ['busy', 'idle', 'busy', 'new']) bench.verdicts(origin, 'right');
  bench.verdicts('guesser', 'w');
  t.same(bench.verdicts('busy', 'right'), ['right'], 'it is not behind the guesser');
  t.same(bench.verdicts('idle', 'right'), [undefined]);
});

/** Keeps this many requests of each origin open: a client with an answer asks again before the clock moves. */
function pester(bench: Bench, origins: readonly string[], open: number): () => void {
  const asked = origins.map(() => Array.from({ length: open }, () => ({}) as ReturnType<Bench['ask']>));
  return () => {
    for (const [i, origin] of origins.entries()) {
      for (let k = 0; k < open; k++) {
        const each = asked[i]![k]!;
        if (each.leave === undefined || each.verdict !== undefined) asked[i]![k] = bench.ask(origin, 'w');
      }
    }
  };
}

for (const open of [8, 12]) {
  t.test(`a guesser that keeps ${open} open does not lock out a neighbour behind the same address`, async (t) => {
    const random = new Random();
    let late = 0;
    for (let run = 0; run < 300; run++) {
      const bench = new Bench({ perMinute: 60, maxOfOrigin: 8 }, () => random.next());
      const guess = pester(bench, ['a'], open);
      for (let i = 0; i < 60; i++) bench.ask('a', 'w');
      guess();
      const tries: ReturnType<Bench['ask']>[] = [];
      const within = open === 8 ? 30 : 60;
      let isServed = false;
      const phase = random.int(0, 24);
      for (let tick = 0; tick < within * 25 && !isServed; tick++) {
        if (tick % 25 === phase && (tries.length === 0 || tries.at(-1)!.verdict !== undefined)) {
          tries.push(bench.ask('a', 'right'));
        }
        bench.clock.advance(40);
        guess();
        isServed = tries.some(({ verdict }) => verdict === 'right');
      }
      if (!isServed) late++;
    }
    t.ok(late <= 3, `seed ${random.seed}: ${late} of 300 were not served in time`);
  });
}

t.test('ten origins that fill the queue of all make others late, and lock no client out', async (t) => {
  const random = new Random();
  const bench = new Bench({ perMinute: 60, maxOfOrigin: 8, remembered: 10_000 }, () => random.next());
  const guessers = Array.from({ length: 10 }, (_, i) => `guesser${i}`);
  for (const origin of guessers) for (let i = 0; i < 60; i++) bench.ask(origin, 'w');
  const guess = pester(bench, guessers, 20);
  guess();
  for (let second = 0; second < 60; second++) {
    const asked = Array.from({ length: 3 }, (_, i) => bench.ask(`encoder ${second} ${i}`, 'right'));
    for (let tick = 0; tick < 75; tick++) {
      bench.clock.advance(40);
      guess();
    }
    t.same(
      asked.map(({ verdict }) => verdict),
      ['right', 'right', 'right'],
      'served within three seconds',
    );
  }
});

t.test('one origin has no more of the line of all than its own places', async (t) => {
  const bench = new Bench({ perMinute: 60, inAllPerMinute: 60, maxOfOrigin: 8, remembered: 10_000 });
  for (let i = 0; i < 60; i++) bench.ask('a', 'w');
  pester(bench, ['a'], 200)();
  bench.looked.length = 0;
  const first = bench.ask('b', 'right');
  bench.clock.advance(2080);
  t.equal(first.verdict, 'right', 'the second turn');
  t.equal(bench.looked.length, 2);
});
