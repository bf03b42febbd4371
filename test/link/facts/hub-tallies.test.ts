/** What several processes count together, against one model: exact once they have heard of each other, whatever dies and begins again. */

import t from 'tap';
import { Tallies, type TallyName } from '../../../src/base/tallies.js';
import { HubTallies } from '../../../src/link/facts/hub-tallies.js';
import { MAX_TALLY_ROWS, TALLY_MS, type TallyMessage } from '../../../src/link/facts/tally-messages.js';
import type { TallySender } from '../../../src/link/facts/worker-tallies.js';
import { Rate } from '../../../src/net/limits/rate.js';
import { FakeClock } from '../../kit/clock.js';
import { type JoinedProcess, JoinedProcesses } from '../../kit/joined.js';
import { Random } from '../../kit/random.js';

/** A new hub passes on what it has heard from then on. */
const SETTLED_MS = 10_000;
const NAMES: readonly TallyName[] = ['connections', 'listeners', 'unique demo'];

/** What each process has: by name and key. */
type Model = Map<JoinedProcess, Map<string, number>>;

function sumOf(model: Model, row: string): number {
  let sum = 0;
  for (const rows of model.values()) sum += rows.get(row) ?? 0;
  return sum;
}

function check(joined: JoinedProcesses, model: Model, hint: string): void {
  const rows = new Set([...model.values()].flatMap((own) => [...own.keys()]));
  for (const row of rows) {
    const [name, key] = row.split('/') as [TallyName, string];
    const sum = sumOf(model, row);
    for (const { tallies } of [...joined.all, joined]) {
      const counted = tallies.tally(name).count(key);
      if (counted !== sum) throw new Error(`${row}: ${counted} instead of ${sum}, ${hint}`);
    }
  }
  for (const name of NAMES) {
    const keys = new Set([...rows].filter((row) => row.startsWith(`${name}/`) && sumOf(model, row) > 0));
    for (const { tallies } of joined.all) {
      const tally = tallies.tally(name);
      const all = tally.keys().length + tally.remoteCount;
      if (all !== keys.size) throw new Error(`keys of ${name}: ${all} instead of ${keys.size}, ${hint}`);
    }
  }
}

t.test('by seed: crowds come and go, processes end and begin, and so does the hub', async (t) => {
  for (let story = 0; story < 20; story++) {
    const random = new Random();
    const joined = new JoinedProcesses(random.int(1, 4));
    const model: Model = new Map([...joined.all].map((process) => [process, new Map()]));
    const pick = () => [...joined.all][random.int(0, joined.all.size - 1)]!;
    for (let step = 0; step < 400; step++) {
      const process = pick();
      const what = random.next();
      if (what < 0.9) {
        const row = `${NAMES[random.int(0, 2)]}/${random.int(0, 15)}`;
        const [name, key] = row.split('/') as [TallyName, string];
        const own = model.get(process)!;
        const change = random.chance(0.5) || (own.get(row) ?? 0) === 0 ? 1 : -1;
        process.tallies.tally(name).add(key, change);
        own.set(row, (own.get(row) ?? 0) + change);
      } else if (what < 0.92 && joined.all.size > 1) {
        joined.end(process);
        model.delete(process);
      } else if (what < 0.94 && joined.all.size < 5) model.set(joined.start(), new Map());
      else if (what < 0.95) joined.restartHub();
      else if (what < 0.97) process.isFull = !process.isFull;
      else joined.exchange();
      if (!random.chance(0.05)) continue;
      for (const each of joined.all) each.isFull = false;
      // A hub that has just begun lets them wait a little.
      joined.pass(750);
      check(joined, model, `step ${step}, SEED=${random.seed}`);
    }
  }
  t.pass('all were exact');
});

t.test('until a new hub has heard from all, they go on with what they know', async (t) => {
  const joined = new JoinedProcesses(2);
  const [one, two] = [...joined.all] as [JoinedProcess, JoinedProcess];
  one.tallies.tally('listeners').add('a', 7);
  joined.exchange();
  t.equal(two.tallies.tally('listeners').others('a'), 7);
  joined.restartHub();
  joined.exchange();
  t.equal(two.tallies.tally('listeners').others('a'), 7, 'nothing is forgotten meanwhile');
  one.tallies.tally('listeners').add('a', -7);
  joined.pass(750);
  t.equal(two.tallies.tally('listeners').others('a'), 0, 'and nothing stays that is not there any more');
});

t.test(
  'what changes is known within a quarter of a second, and while nothing changes they look once a second',
  async (t) => {
    const joined = new JoinedProcesses(2);
    const [one, two] = [...joined.all] as [JoinedProcess, JoinedProcess];
    let looks = 0;
    let plain = 0;
    one.tallies.onLook(() => {
      looks++;
      one.tallies.all.set('plain', plain);
    });
    joined.clock.advance(2000);
    looks = 0;
    joined.clock.advance(10_000);
    t.ok(looks >= 9 && looks <= 11, `${looks} looks in ten seconds`);
    for (let count = 1; count <= 5; count++) {
      joined.clock.advance(700 + 13 * count);
      one.tallies.tally('listeners').add('a', 1);
      joined.tallies.notices('pushes').add('demo', 1);
      one.tallies.raise('listeners demo', count);
      joined.clock.advance(250);
      t.equal(two.tallies.tally('listeners').others('a'), count);
      t.equal(joined.tallies.tally('listeners').others('a'), count);
      t.equal(two.tallies.peak('listeners demo'), count);
    }
    plain = 7;
    joined.clock.advance(1250);
    t.equal(two.tallies.all.others('plain'), 7, 'what only a look finds');
    two.isFull = true;
    one.tallies.tally('listeners').add('a', -5);
    joined.clock.advance(3000);
    t.equal(two.tallies.tally('listeners').others('a'), 5);
    two.isFull = false;
    joined.clock.advance(250);
    t.equal(two.tallies.tally('listeners').others('a'), 0, 'one that did not keep up is told when it does');
  },
);

t.test('a new hub waits until all have said what they have, and no longer', async (t) => {
  const clock = new FakeClock();
  const hub = new HubTallies(new Tallies(), 10, clock);
  const said: [isFirst: boolean, count: number][] = [];
  const early: TallySender = {
    isFull: false,
    send: ({ rows, isFirst }) => void said.push([isFirst, rows.counts[0]?.[1][0]?.[1] ?? 0]),
  };
  const late: TallySender = { isFull: false, send: () => undefined };
  hub.enter(early);
  hub.enter(late);
  clock.advance(TALLY_MS);
  hub.pass(clock.now());
  t.same(said, [], 'the other one has not said yet what it has');
  hub.hear(late, {
    type: 'tallies',
    isFirst: true,
    rows: { counts: [['listeners', [['a', 7]]]], peaks: [], notices: [] },
  });
  clock.advance(3 * TALLY_MS);
  hub.pass(clock.now());
  t.same(said, [[true, 7]]);
});

t.test(
  'numbers that are looked at come before a flood of addresses, and a flood does not hold up other tallies',
  async (t) => {
    const joined = new JoinedProcesses(2);
    const [one, two] = [...joined.all] as [JoinedProcess, JoinedProcess];
    const flood = one.tallies.tally('connections');
    const others = one.tallies.tally('watchers');
    let count = 0;
    one.tallies.onLook(() => one.tallies.all.set('connections', count));
    for (let i = 0; i < 50_000; i++) flood.add(`address ${i}`, 1);
    count = 50_000;
    others.add('a', 3);
    joined.exchange();
    t.equal(two.tallies.all.others('connections'), 50_000);
    t.equal(two.tallies.tally('watchers').others('a'), 3);
    joined.exchange(Math.ceil(50_000 / MAX_TALLY_ROWS));
    t.equal(two.tallies.tally('connections').remoteCount, 50_000);
    t.ok(joined.largest <= MAX_TALLY_ROWS, `${joined.largest} rows in one message`);
  },
);

t.test('10,000 addresses that come within a second are known everywhere within that', async (t) => {
  const joined = new JoinedProcesses(2);
  const [one, two] = [...joined.all] as [JoinedProcess, JoinedProcess];
  const rounds = 1000 / TALLY_MS;
  for (let i = 0; i < 10_000; i++) {
    for (const name of NAMES) one.tallies.tally(name).add(`address ${i}`, 1);
    if (i % (10_000 / rounds) === 0) joined.exchange();
  }
  joined.exchange();
  t.same(
    NAMES.map((name) => two.tallies.tally(name).remoteCount),
    [10_000, 10_000, 10_000],
  );
});

t.test('peaks are the largest that any process has seen, and outlive it and the hub', async (t) => {
  const joined = new JoinedProcesses(2);
  const [one, two] = [...joined.all] as [JoinedProcess, JoinedProcess];
  one.tallies.raise('listeners demo', 9);
  two.tallies.raise('listeners demo', 5);
  joined.exchange();
  t.equal(two.tallies.peak('listeners demo'), 9);
  joined.end(one);
  joined.restartHub();
  const three = joined.start();
  joined.pass(750);
  t.equal(three.tallies.peak('listeners demo'), 9);
});

t.test('notices reach all others once, the hub too', async (t) => {
  const joined = new JoinedProcesses(3);
  const heard: string[] = [];
  const processes = [...joined.all];
  for (const [i, { tallies }] of [...processes, joined].entries()) {
    tallies.notices('pushes').onNotice((key, amount) => heard.push(`${i} ${key} ${amount}`));
  }
  processes[1]!.tallies.notices('pushes').add('demo', 2);
  joined.tallies.notices('pushes').add('other', 1);
  joined.exchange(3);
  t.same(heard.sort(), ['0 demo 2', '0 other 1', '1 other 1', '2 demo 2', '2 other 1', '3 demo 2']);
});

t.test('of keys no more are kept than one process may count by', async (t) => {
  const clock = new FakeClock();
  const hub = new HubTallies(new Tallies(), 10, clock, () => 100);
  clock.advance(SETTLED_MS);
  const liar: TallySender = { isFull: false, send: () => undefined };
  const said: number[] = [];
  hub.enter(liar);
  hub.enter({
    isFull: false,
    send: ({ rows }) => void said.push(rows.counts.reduce((sum, [, keys]) => sum + keys.length, 0)),
  });
  const hear = (name: string, from: number, count: number) =>
    hub.hear(liar, {
      type: 'tallies',
      isFirst: false,
      rows: {
        counts: [[name, Array.from({ length: count }, (_, i) => [`key${from + i}`, 1])]],
        peaks: [],
        notices: [],
      },
    });
  hear('listeners', 0, 60);
  hear('unique demo', 0, 40);
  hub.pass(clock.now());
  t.equal(said.pop(), 100, 'at the limit');
  hear('listeners', 1000, 5000);
  for (let i = 0; i < 5000; i++) hear(`unique demo${i}`, 0, 1);
  hub.pass(clock.now());
  t.equal(said.pop(), undefined, 'past it nothing is passed on');
  t.equal(hub.without(new Set(), 'listeners', 'key1'), 1);
  t.equal(hub.without(new Set(), 'listeners', 'key1000'), 0);
});

t.test(
  'what one process says outlives it no longer than it would have taken to happen, and takes no memory',
  async (t) => {
    const clock = new FakeClock();
    const limits = { perMinute: 60, burst: 60, remembered: 100 };
    const tallies = new Tallies(100);
    const rate = new Rate(clock, limits, tallies.notices('pushes'));
    const has = (channel: string) => channel === 'demo';
    const hub = new HubTallies(tallies, 100, clock, () => 1000, has);
    clock.advance(SETTLED_MS);
    const said: TallyMessage[] = [];
    const liar: TallySender = { isFull: false, send: () => undefined };
    hub.enter(liar);
    hub.enter({ isFull: false, send: (message) => void said.push(message) });
    const known = [
      ...(['listeners', 'lag demo', 'unique demo'] as const),
      ...['name', 'lag', 'lag x', 'unique demo/x', 'x unique demo', '', 'toString'],
    ];
    const key = '192.0.2.1';
    hub.hear(liar, {
      type: 'tallies',
      isFirst: false,
      rows: {
        counts: known.map((name) => [name, [[key, 2 ** 31 - 1]]]),
        peaks: ['listeners demo', 'connections demo', 'listeners x', 'x'].flatMap((name) => [
          [name, 1000] as const,
          [name, 1001] as const,
        ]),
        notices: ['pushes', 'x', 'unique x'].map((name) => [name, [[key, 2 ** 31 - 1]]]),
      },
    });
    hub.pass(clock.now());
    const { counts, peaks, notices } = said.at(-1)!.rows;
    t.strictSame(
      counts.map(([name]) => name),
      ['listeners', 'lag demo', 'unique demo'],
    );
    t.strictSame(
      [...peaks],
      [
        ['listeners demo', 1000],
        ['connections demo', 1000],
      ],
    );
    t.strictSame(
      notices.map(([name]) => name),
      ['pushes'],
    );
    t.equal(rate.take(key), 16 * 60 + 1, 'seconds');
    hub.leave(liar);
    hub.pass(clock.now());
    t.strictSame(
      said.at(-1)!.rows.counts.map(([, rows]) => rows),
      [[[key, 0]], [[key, 0]], [[key, 0]]],
    );
    clock.advance(17 * 60_000);
    t.equal(rate.take(key), 0);
  },
);
