/** What nodes have changed apart is merged the same way everywhere: by time, then by node; in the history nothing is missing. By seed. */

import t from 'tap';
import { allOf, changesBetween, merge, withUnsent } from '../../../src/cluster/titles/merge.js';
import {
  type Decided,
  isLater,
  NOTHING,
  type Ordered,
  saysTheSame,
  type Unsent,
  unsentOf,
} from '../../../src/cluster/titles/ordered.js';
import { changeSilently, dropNext, takeNext, takeNow } from '../../../src/now-playing/effect.js';
import { makeTrack } from '../../../src/now-playing/repeat.js';
import type { Change, ChannelState } from '../../../src/now-playing/state.js';
import { Random } from '../../kit/random.js';

const START_MS = 1_795_178_248_000;

const momentAt = (atMs: number) => ({ channel: 'x', wallMs: atMs, newId: () => '', ageMs: () => 0 });
const track = (type: 'now' | 'next', song: string, atMs: number) =>
  makeTrack({ type, artist: '', song }, song, Math.floor(atMs / 1000));

function now(state: ChannelState, song: string, atMs: number): Change {
  return takeNow(state, track('now', song, atMs), momentAt(atMs));
}

function oneOf<T>(random: Random, all: readonly T[]): T {
  return all[random.int(0, all.length - 1)]!;
}

/** A node that decides by itself, on what it knows. */
class Apart {
  readonly unsent: Unsent[] = [];
  readonly songs: string[] = [];
  base: Ordered;
  readonly node: string;

  constructor(node: string, base: Ordered) {
    this.node = node;
    this.base = base;
  }

  get state(): ChannelState {
    return withUnsent(this.base, this.unsent).state;
  }

  do(decide: (state: ChannelState) => Change, atMs: number): void {
    const before = this.state;
    const change = decide(before);
    this.unsent.push(unsentOf(before, change, `${this.node}${this.unsent.length}`, { atMs, node: this.node }));
    this.#tell(before);
  }

  /** Sends its first one. @returns what all agree on then */
  send(base: Ordered): Ordered {
    this.hear(base);
    const merged = merge(base, this.unsent[0]!)?.ordered ?? base;
    const before = this.state;
    this.unsent.shift();
    this.base = merged;
    this.#tell(before);
    return merged;
  }

  hear(base: Ordered): void {
    const before = this.state;
    this.base = base;
    this.#tell(before);
  }

  #tell(before: ChannelState): void {
    for (const { record, state } of changesBetween(before, this.state)) {
      if (record?.type === 'now') this.songs.push(record.song);
      if (state.version < before.version) throw new Error('the version went back');
    }
  }
}

t.test('alone, a change stays as it was decided', async (t) => {
  const apart = new Apart('a', NOTHING);
  const made: Change[] = [];
  for (const [i, song] of ['1', '2', '3'].entries()) {
    apart.do(
      (state) => {
        const change = now(state, song, START_MS + i * 1000);
        made.push(change);
        return change;
      },
      START_MS + i * 1000,
    );
  }
  let base: Ordered = NOTHING;
  for (const change of made) {
    const merged = merge(base, apart.unsent[0]!)!;
    t.same(merged.ordered.state, change.state);
    t.same(merged.history, change.history);
    t.equal(merged.hasRecord, true);
    base = apart.send(base);
  }
  t.same(apart.songs, ['1', '2', '3']);
});

t.test(
  'by seed: whatever order nodes come back in, all end with the one decided last, and tell nothing twice or backwards',
  async (t) => {
    const random = new Random();
    for (let story = 0; story < 500; story++) {
      const first = merge(
        NOTHING,
        unsentOf(NOTHING.state, now(NOTHING.state, 'first', START_MS), 'f', { atMs: START_MS, node: 'f' }),
      )!;
      const nodes = ['a', 'b', 'c'].map((node) => new Apart(node, first.ordered));
      const decided: { readonly song: string; readonly decided: Decided }[] = [];
      for (let i = 0, atMs = START_MS + 1000; i < random.int(1, 12); i++, atMs += oneOf(random, [0, 1, 5000])) {
        const node = oneOf(random, nodes);
        const last = node.unsent.at(-1)?.decided.atMs ?? 0;
        const when = Math.max(atMs, last + 1);
        const song = `${i}`;
        node.do((state) => now(state, song, when), when);
        decided.push({ song, decided: { atMs: when, node: node.node } });
      }
      let base = first.ordered;
      const history = new Set<string>();
      while (nodes.some(({ unsent }) => unsent.length > 0)) {
        const node = oneOf(
          random,
          nodes.filter(({ unsent }) => unsent.length > 0),
        );
        for (const { record } of merge(base, node.unsent[0]!)?.history ?? []) history.add(record.song);
        base = node.send(base);
        for (const other of nodes) if (random.chance(0.5)) other.hear(base);
      }
      for (const node of nodes) node.hear(base);
      const order = [
        'first',
        ...decided.sort((x, y) => (isLater(x.decided, y.decided) ? 1 : -1)).map(({ song }) => song),
      ];
      const context = `SEED=${random.seed}, story ${story}`;
      if (base.state.now?.song !== order.at(-1))
        t.fail(`${context}: ${base.state.now?.song} in place of ${order.at(-1)}`);
      for (const { node, songs, state } of nodes) {
        if (!saysTheSame(state.now, base.state.now) || state.version !== base.state.version)
          t.fail(`${context}: ${node} has another state`);
        const places = songs.map((song) => order.indexOf(song));
        if (places.some((place, i) => i > 0 && place <= places[i - 1]!))
          t.fail(`${context}: ${node} got ${songs}, the order is ${order}`);
      }
      for (const { song } of decided) if (!history.has(song)) t.fail(`${context}: ${song} is missing in the history`);
    }
    t.pass('500 stories');
  },
);

t.test('the same title brought about by two nodes is one; the same played again is another', async (t) => {
  const base = merge(
    NOTHING,
    unsentOf(NOTHING.state, now(NOTHING.state, 'one', START_MS), '1', { atMs: START_MS, node: 'a' }),
  )!.ordered;
  const [a, b] = [new Apart('a', base), new Apart('b', base)];
  a.do((state) => now(state, 'held', START_MS + 5000), START_MS + 5000);
  b.do((state) => now(state, 'held', START_MS + 5040), START_MS + 5040);
  const all = b.send(a.send(base));
  a.hear(all);
  t.same([a.songs, b.songs], [['held'], ['held']]);
  a.do((state) => now(state, 'held', START_MS + 200_000), START_MS + 200_000);
  b.hear(a.send(all));
  t.same(
    [a.songs, b.songs],
    [
      ['held', 'held'],
      ['held', 'held'],
    ],
  );
});

t.test('a next that names the title in force is not spent by it, where it was decided behind it', async (t) => {
  const played = now(NOTHING.state, 'one', START_MS);
  const base = merge(NOTHING, unsentOf(NOTHING.state, played, '1', { atMs: START_MS, node: 'a' }))!.ordered;
  const [a, b] = [new Apart('a', base), new Apart('b', base)];
  const again = (state: ChannelState) =>
    takeNext(state, track('next', 'one', START_MS + 1000), false, momentAt(START_MS + 1000));
  a.do(again, START_MS + 1000);
  let all: Ordered = base;
  // What b has sent meanwhile: a's next is merged, not taken as it is.
  b.do((state) => changeSilently(state, { held: [track('now', 'h', START_MS + 60_000)] }), START_MS + 500);
  while (b.unsent.length > 0) all = b.send(all);
  while (a.unsent.length > 0) all = a.send(all);
  t.equal(all.state.now?.song, 'one');
  t.equal(all.state.next?.song, 'one', 'it plays again');
});

t.test(
  'next and held pushes: the later next stands, one that is spent does not come back, held ones are a set',
  async (t) => {
    const base = merge(
      NOTHING,
      unsentOf(NOTHING.state, now(NOTHING.state, 'one', START_MS), '1', { atMs: START_MS, node: 'a' }),
    )!.ordered;
    const [a, b] = [new Apart('a', base), new Apart('b', base)];
    a.do((state) => takeNext(state, track('next', 'two', START_MS), false, momentAt(START_MS + 1000)), START_MS + 1000);
    b.do(
      (state) => takeNext(state, track('next', 'three', START_MS), false, momentAt(START_MS + 2000)),
      START_MS + 2000,
    );
    const held = [track('now', 'h1', START_MS + 60_000), track('now', 'h2', START_MS + 30_000)];
    a.do((state) => changeSilently(state, { held: [held[0]!] }), START_MS + 2500);
    b.do((state) => changeSilently(state, { held: [held[1]!] }), START_MS + 2600);
    let all: Ordered = base;
    while (b.unsent.length > 0) all = b.send(all);
    while (a.unsent.length > 0) all = a.send(all);
    b.hear(all);
    for (const { state } of [a, b]) {
      t.equal(state.next?.song, 'three');
      t.same(state.held, [held[1], held[0]], 'by time');
    }
    // One takes a held push back and the next away, the other one spends that next by playing it.
    a.do((state) => changeSilently(state, { held: state.held.slice(1) }), START_MS + 3000);
    a.do(dropNext, START_MS + 3001);
    b.do((state) => now(state, 'three', START_MS + 4000), START_MS + 4000);
    while (b.unsent.length > 0) all = b.send(all);
    while (a.unsent.length > 0) all = a.send(all);
    b.hear(all);
    for (const { state } of [a, b]) {
      t.equal(state.next, null);
      t.equal(state.now?.song, 'three');
      t.same(state.held, [held[0]]);
    }
  },
);

t.test('a held push whose time has passed elsewhere is not held again', async (t) => {
  const [early, late] = [track('now', 'early', START_MS + 60_000), track('now', 'late', START_MS + 600_000)];
  const holding = changeSilently(now(NOTHING.state, 'one', START_MS).state, { held: [early, late] }).state;
  const known: Ordered = { state: holding, now: { atMs: START_MS, node: 'a' }, next: NOTHING.next };
  // The others have played it, and another one behind it; or nothing stands but the fallback title.
  const played = now({ ...holding, held: [late] }, 'early', START_MS + 60_000).state;
  const overtaken = now(played, 'two', START_MS + 120_000).state;
  const ranOut = { ...overtaken, now: { ...overtaken.now!, source: 'fallback' as const } };
  for (const [what, state] of Object.entries({ played, overtaken, ranOut })) {
    const base: Ordered = { state, now: { atMs: START_MS + 120_000, node: 'b' }, next: NOTHING.next };
    const stopped = allOf(known, 'all', { atMs: 1, node: 'a' });
    t.same(withUnsent(base, [stopped]).state.held, [late], `${what}: where all is sent`);
    const apart = unsentOf({ ...holding, held: [] }, changeSilently({ ...holding, held: [] }, { held: [early] }), 'u', {
      atMs: START_MS + 1000,
      node: 'a',
    });
    t.same(withUnsent(base, [apart]).state.held, [late], `${what}: where it waited to be sent`);
  }
  t.same(withUnsent(NOTHING, [allOf(known, 'all', { atMs: 1, node: 'a' })]).state.held, [early, late], 'nobody has it');
});
