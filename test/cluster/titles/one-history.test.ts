/**
 * After whatever has kept nodes apart, all have one history: each play once, where it was. The shared log is that of an origin, in this process; each
 * node is cut off from it, and it begins anew, as the test says.
 */

import t from 'tap';
import { HeldLog } from '../../../src/cluster/log/held-log.js';
import type { OpenSharedLog, SharedLog } from '../../../src/cluster/log/shared-log.js';
import { changeSilently, correctNow } from '../../../src/now-playing/effect.js';
import { makeTrack } from '../../../src/now-playing/repeat.js';
import { allUntil, play, startNode, type TestNode } from '../../kit/cluster.js';
import { pause, quietFor } from '../../kit/pause.js';

t.setTimeout(60_000);

const HOUR_MS = 3_600_000;

/** A way to the shared log that can be cut. */
class Way {
  isCut = false;
  #log: SharedLog | null = null;
  readonly #held: () => HeldLog;
  /** Changes the log as the node has it. */
  wrap: (log: SharedLog) => void = () => undefined;

  constructor(held: () => HeldLog) {
    this.#held = held;
  }

  cut(): void {
    this.isCut = true;
    this.#log?.close();
  }

  open: OpenSharedLog = async (onLost) => {
    if (this.isCut) throw new Error('it is cut');
    this.#log = this.#held().open(onLost);
    this.wrap(this.#log);
    return this.#log;
  };
}

function plays(node: TestNode, channel = 'x'): string[] {
  return node.store
    .history(channel, { limit: 1000 })
    .map(({ record, fromMs, toMs }) => `${record.id} ${fromMs} ${toMs} ${record.cover}`);
}

function ids(node: TestNode, channel = 'x'): string[] {
  return node.store.history(channel, { limit: 1000 }).map(({ record }) => record.id);
}

async function agree(nodes: readonly TestNode[], what: string, channel = 'x'): Promise<void> {
  const first = nodes[0]!;
  await allUntil(
    nodes,
    (node) => node.engine.waiting === 0 && `${plays(node, channel)}` === `${plays(first, channel)}`,
    `${what}: ${nodes.map((node) => `${node.name}: ${plays(node, channel)}`).join('; ')}`,
  );
}

t.test('a node that is new has the titles of hours, in their order', async (t) => {
  const held = new HeldLog();
  const a = await startNode(t, new Way(() => held).open, 'a');
  const nowMs = Date.now();
  for (const [i, hours] of [8, 6, 4, 2, 0].entries()) {
    await a.engine.update('x', play('x', `${i}`, `${i}`, nowMs - hours * HOUR_MS));
  }
  const way = new Way(() => held);
  const b = await startNode(t, way.open, 'b');
  await agree([a, b], 'new');
  t.same(ids(b), ['4', '3', '2', '1', '0']);

  t.comment('nor do they move where what others have played meanwhile comes late');
  way.cut();
  await a.engine.update('x', play('x', 'late', 'late', nowMs + 2 * HOUR_MS));
  await pause(20);
  for (const hours of [5, 9]) await b.engine.update('x', play('x', `b${hours}`, `b${hours}`, nowMs + hours * HOUR_MS));
  way.isCut = false;
  await allUntil([b], ({ reason }) => reason === null, 'back');
  await agree([a, b], 'late');
  t.same(ids(b), ['b9', 'b5', 'late', '4', '3', '2', '1', '0']);
});

t.test('a correction behind the end of a title comes to a node that is new', async (t) => {
  const held = new HeldLog();
  const a = await startNode(t, new Way(() => held).open, 'a');
  await a.push('x', 'one');
  await a.push('x', 'two');
  await a.engine.update('x', (state) => {
    const [past] = state.ended!;
    const record = { ...past!.record, cover: 'https://example.org/late.png' };
    const change = changeSilently(state, { ended: [{ ...past!, record }] });
    return { ...change, history: [{ record, fromMs: past!.fromMs, toMs: past!.toMs }] };
  });
  const b = await startNode(t, new Way(() => held).open, 'b');
  await agree([a, b], 'new');
  t.match(plays(b).at(-1), /late\.png/);
});

t.test(
  'the log begins anew, and who has not read the last title joins first: all have it, and its entry',
  async (t) => {
    let held = new HeldLog();
    const [wayA, wayB] = [new Way(() => held), new Way(() => held)];
    const [a, b] = [await startNode(t, wayA.open, 'a'), await startNode(t, wayB.open, 'b')];
    await a.push('x', 'one');
    await agree([a, b], 'one');
    wayB.cut();
    await a.push('x', 'two');
    await a.push('x', 'three');
    wayA.cut();
    held = new HeldLog();
    wayB.isCut = false;
    await allUntil([b], ({ reason, engine }) => reason === null && engine.waiting === 0, 'b is first');
    await pause(100);
    wayA.isCut = false;
    await allUntil([a, b], ({ engine }) => engine.state('x').now?.song === 'three', 'three');
    await agree([a, b], 'anew');
    t.same(ids(b), ['three', 'two', 'one']);
  },
);

t.test(
  'a connection that is lost while the past of another life is read: what that lacks is sent all the same',
  async (t) => {
    const [first, second] = [new HeldLog(), new HeldLog()];
    let held = first;
    const way = new Way(() => held);
    const b = await startNode(t, way.open, 'b');
    await b.push('x', 'one');
    await b.push('x', 'two');
    way.cut();
    held = second;
    const a = await startNode(t, new Way(() => held).open, 'a');
    for (let i = 0; i < 30; i++) await a.push('x', `a${i}`);
    let isLost = false;
    way.wrap = (log) => {
      const { entriesAfter } = log;
      log.entriesAfter = (seq, most, waitMs) => {
        if (!isLost && waitMs === 0 && most > 1 && seq > 0) {
          isLost = true;
          log.close();
        }
        return entriesAfter.call(log, seq, most, waitMs);
      };
    };
    way.isCut = false;
    await allUntil([b], ({ reason }) => isLost && reason === null, 'joined again');
    await agree([a, b], 'anew');
    t.ok(ids(a).includes('one') && ids(a).includes('two'), `${ids(a)}`);
  },
);

t.test(
  'the log begins anew: a correction that one node has read, and another one not, is in the history of both',
  async (t) => {
    for (const isFirst of [false, true]) {
      let held = new HeldLog();
      const [wayA, wayB] = [new Way(() => held), new Way(() => held)];
      const [a, b] = [await startNode(t, wayA.open, 'a'), await startNode(t, wayB.open, 'b')];
      await a.push('x', 'one');
      await agree([a, b], 'one');
      wayA.cut();
      const at = { channel: 'x', wallMs: Date.now(), newId: () => '', ageMs: () => 0 };
      await b.engine.update('x', (state) =>
        correctNow(state, { ...state.now!, cover: 'https://example.org/c.png' }, at),
      );
      wayB.cut();
      held = new HeldLog();
      const back = async (node: TestNode, way: Way) => {
        way.isCut = false;
        await allUntil([node], ({ reason, engine }) => reason === null && engine.waiting === 0, `${node.name} is back`);
      };
      if (isFirst) await back(b, wayB);
      await back(a, wayA);
      await a.push('x', 'two');
      await back(b, wayB);
      await agree([a, b], 'anew');
      t.match(plays(a).at(-1), /c\.png/);
      t.same(ids(b), ['two', 'one']);
    }
  },
);

t.test('a held push that was played while a node was away is not played again', async (t) => {
  let held = new HeldLog();
  const [wayA, wayB] = [new Way(() => held), new Way(() => held)];
  const [a, b] = [await startNode(t, wayA.open, 'a'), await startNode(t, wayB.open, 'b')];
  await a.push('x', 'one');
  const track = makeTrack({ type: 'now', artist: '', song: 'held' }, 'held', Math.floor(Date.now() / 1000));
  await a.engine.update('x', (state) => changeSilently(state, { held: [track] }));
  await allUntil([b], ({ engine }) => engine.state('x').held.length === 1, 'held');
  await b.engine.close();
  await a.engine.update('x', (state) => changeSilently(state, { held: [] }));
  await pause(1000);
  await a.push('x', 'held');
  await a.push('x', 'two');
  wayA.cut();
  held = new HeldLog();
  wayA.isCut = false;
  await allUntil([a], ({ reason, engine }) => reason === null && engine.waiting === 0, 'anew');
  const again = await startNode(t, wayB.open, 'b', { store: b.store });
  await allUntil([a, again], ({ engine }) => engine.waiting === 0, 'sent');
  await quietFor(200);
  for (const { engine, name } of [a, again]) t.same(engine.state('x').held, [], name);
  await agree([a, again], 'once');
  t.same(ids(again), ['two', 'held', 'one']);
});

t.test('what two nodes are both pushed while they are apart is one play', async (t) => {
  let held = new HeldLog();
  const ways = [new Way(() => held), new Way(() => held)];
  const nodes = [await startNode(t, ways[0]!.open, 'a'), await startNode(t, ways[1]!.open, 'b')];
  const wayC = new Way(() => held);
  const c = await startNode(t, wayC.open, 'c');
  const [a, b] = nodes as [TestNode, TestNode];
  const withCover = (node: TestNode) =>
    node.engine.update('x', (state) =>
      correctNow(
        state,
        { ...state.now!, cover: 'https://example.org/c.png' },
        { channel: 'x', wallMs: Date.now(), newId: () => '', ageMs: () => 0 },
      ),
    );
  const stories: Record<string, readonly [at: (0 | 1)[], acts: readonly string[]]> = {
    'both at once': [[0, 1], ['push']],
    'and its cover': [
      [0, 1],
      ['push', 'cover'],
    ],
    'another behind it': [
      [0, 1],
      ['push', 'other'],
    ],
    'its cover and another': [
      [1, 0],
      ['push', 'cover', 'other'],
    ],
    'its cover and many more': [
      [0, 1],
      ['push', 'cover', 'other', 'third', 'fourth', 'fifth', 'sixth'],
    ],
    'as many, and the log begins anew': [
      [0, 1],
      ['push', 'other', 'third', 'fourth', 'fifth', 'sixth', 'anew'],
    ],
  };
  let n = 0;
  for (const [name, [order, acts]] of Object.entries(stories)) {
    for (const back of order) {
      const id = `title${++n}`;
      for (const way of ways) way.cut();
      await allUntil(nodes, ({ reason }) => reason !== null, 'apart');
      for (const act of acts) {
        if (act === 'anew') {
          wayC.cut();
          held = new HeldLog();
          wayC.isCut = false;
          continue;
        }
        for (const node of nodes) {
          if (act === 'cover') await withCover(node);
          else await node.push('x', act === 'push' ? id : `${id} ${act}`);
          await pause(15);
        }
      }
      ways[back]!.isCut = false;
      await allUntil([nodes[back]!], ({ reason, engine }) => reason === null && engine.waiting === 0, 'one is back');
      for (const way of ways) way.isCut = false;
      await allUntil(nodes, ({ reason, engine }) => reason === null && engine.waiting === 0, 'back');
      await agree([a, b, c], name);
      for (const node of [a, b, c]) {
        t.same(ids(node), [...new Set(ids(node))], `${name}, ${nodes[back]!.name} first: each once at ${node.name}`);
        const open = node.store.history('x', { limit: 1000 }).filter(({ toMs }) => toMs === null);
        t.equal(open.length, 1, `${name}: one is on air`);
      }
      if (!t.passing()) return;
    }
  }
});

t.test('a channel that is added at one node after the other has its title and its history at both', async (t) => {
  const held = new HeldLog();
  let isThere = false;
  const has = (channel: string) => channel !== 'y' || isThere;
  const way = new Way(() => held);
  const [a, b] = [await startNode(t, new Way(() => held).open, 'a'), await startNode(t, way.open, 'b', { has })];
  await a.push('y', 'y1');
  await a.push('y', 'y2');
  await a.push('x', 'x1');
  await agree([a, b], 'the other channel');
  isThere = true;
  b.engine.learn(['y']);
  await agree([a, b], 'by a reload', 'y');
  t.same(ids(b, 'y'), ['y2', 'y1']);

  isThere = false;
  await a.push('y', 'y3');
  await a.push('y', 'y4');
  await a.push('x', 'x2');
  await agree([a, b], 'the other channel');
  await b.engine.close();
  isThere = true;
  const again = await startNode(t, way.open, 'b', { has, store: b.store });
  t.equal(again.engine.state('y').now?.song, 'y4', 'by a restart');
  await agree([a, again], 'by a restart', 'y');
  t.same(ids(again, 'y'), ['y4', 'y3', 'y2', 'y1']);
});
