/**
 * Bad records in Redis, written by another program or committed by another node, are skipped and reported with their place; pushes go on at all nodes, at once and
 * after a restart. The Redis is real.
 */

import t, { type Test } from 'tap';
import { Redis } from '../../../src/cluster/log/redis.js';
import { RedisLog } from '../../../src/cluster/log/redis-log.js';
import { readEntry, readLast } from '../../../src/cluster/titles/log-entry.js';
import { NEVER, type Ordered } from '../../../src/cluster/titles/ordered.js';
import { MAX_COUNTED, MAX_MOMENT_MS } from '../../../src/metadata/record-schema.js';
import { EMPTY_STATE } from '../../../src/now-playing/state.js';
import { allUntil, play, startNode, type TestNode } from '../../kit/cluster.js';
import { commitOf, leaseQuestion } from '../../kit/log-questions.js';
import { noRedis, RedisServer } from '../../kit/redis.js';
import { until } from '../../kit/until.js';

t.setTimeout(300_000);

const PREFIX = 'test:';
const AT_MS = 1_763_642_248_123;
const { state: STATE, history: HISTORY } = play('x', 'song', 'id', AT_MS)(EMPTY_STATE)!;
const NOW = STATE.now!;
const ORDERED: Ordered = { state: STATE, now: { atMs: AT_MS, node: 'a' }, next: NEVER };

/** An entry as Redis answers it. */
function entryOf(fields: Readonly<Record<string, string>>, id = '41-0') {
  const all = {
    c: 'x',
    v: '1',
    p: 'p1',
    n: 'a',
    s: `${AT_MS}`,
    o: JSON.stringify(ORDERED),
    h: JSON.stringify(HISTORY),
  };
  return { id, fields: { ...all, ...fields } };
}

const withNow = (now: object) => JSON.stringify({ ...ORDERED, state: { ...STATE, now: { ...NOW, ...now } } });
const withState = (state: object) => JSON.stringify({ ...ORDERED, state: { ...STATE, ...state } });

/** Written once; a server that keeps it cannot write it again, deeper in its stack. */
const DEEP: unknown = JSON.parse('[{"a":'.repeat(1000) + 1 + '}]'.repeat(1000));

/** Last values as another program may have written them, and what is reported of each. */
const BAD_ORDERED: readonly (readonly [text: string, said: RegExp])[] = [
  ['', /not JSON/],
  ['now', /not JSON/],
  ['null', /it: /],
  ['[]', /it: /],
  ['{}', /state: /],
  [withNow({ song: 12345 }), /state\.now\.song: must be a string/],
  [withNow({ song: null }), /state\.now\.song/],
  [withNow({ song: 'x'.repeat(65_537) }), /at most 65536 bytes/],
  [withNow({ cover: 'x'.repeat(65_537) }), /state\.now\.cover/],
  [withNow({ timezone: 'x'.repeat(1025) }), /state\.now\.timezone/],
  [withNow({ effectAtMs: 1e300 }), /state\.now\.effectAtMs/],
  [withNow({ effectAtMs: -1 }), /state\.now\.effectAtMs/],
  [withNow({ startSeconds: 1e20 }), /state\.now\.startSeconds/],
  [withNow({ durationSeconds: 0.5 }), /state\.now\.durationSeconds/],
  [withNow({ durationSeconds: -1 }), /state\.now\.durationSeconds/],
  [withNow({ etype: 'music' }), /state\.now\.etype/],
  [withNow({ type: 'next' }), /state\.now: is not a current title/],
  [withNow({ source: 'nobody' }), /state\.now\.source/],
  [withNow({ version: 2 }), /now: is newer than its state/],
  [withNow({ version: 2 ** 53 }), /state\.now\.version/],
  [withNow({ channel: 'y' }), /now: is of another channel/],
  [withNow({ images: '{"small":' }), /images: is not JSON/],
  [withNow({ images: '{"small":{"url":5}}' }), /images: /],
  [withNow({ extdata: '"text"' }), /extdata: /],
  [withNow({ extdata: `${'{"a":'.repeat(1001)}1${'}'.repeat(1001)}` }), /extdata: is too deep/],
  [withNow({ stamp: 2 ** 60 }), /stamp/],
  [withNow({ later: DEEP }), /nested too deeply/],
  [withState({ later: DEEP }), /nested too deeply/],
  [JSON.stringify({ ...ORDERED, later: DEEP }), /nested too deeply/],
  [withState({ version: 1.5 }), /state\.version/],
  [withState({ version: 2 ** 60 }), /state\.version/],
  [withState({ held: 'none' }), /state\.held/],
  [withState({ held: Array(10_001).fill(NOW) }), /state\.held/],
  [withState({ covered: {} }), /state\.covered/],
  [withState({ lost: 1 }), /state\.lost/],
  [withState({ saidSeconds: 'x' }), /state\.saidSeconds/],
  [withState({ onAirSinceMs: null }), /state\.onAirSinceMs/],
  [JSON.stringify({ ...ORDERED, now: { atMs: 'never', node: 'a' } }), /now\.atMs/],
  [JSON.stringify({ ...ORDERED, next: null }), /next: /],
];

const BAD_FIELDS: readonly (readonly [fields: Readonly<Record<string, string>>, said: RegExp])[] = [
  [{ s: 'soon' }, /it: /],
  [{ s: `${2 ** 60}` }, /it: /],
  [{ s: '-1' }, /it: /],
  [{ n: '' }, /it: /],
  [{ n: 'x'.repeat(300) }, /it: /],
  [{ p: 'x'.repeat(300) }, /it: /],
  [{ h: '{}' }, /it: /],
  [{ h: 'x' }, /not JSON/],
  [{ h: JSON.stringify([{ ...HISTORY[0], toMs: 'now' }]) }, /0\.toMs/],
  [{ h: JSON.stringify([{ ...HISTORY[0], fromMs: 1e300 }]) }, /0\.fromMs/],
  [{ h: JSON.stringify(Array(101).fill(HISTORY[0])) }, /it: /],
  [{ h: JSON.stringify([{ ...HISTORY[0], record: { ...NOW, channel: 'y' } }]) }, /an entry is of another channel/],
];

t.test('an entry is read as a whole, or says what is wrong with it, and its version', async (t) => {
  t.match(readEntry(entryOf({})), { seq: 41, channel: 'x', id: 'p1', node: 'a', stamp: AT_MS });
  const bad: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    ...BAD_ORDERED.map(([o, said]) => [{ o }, said] as const),
    ...BAD_FIELDS,
  ];
  for (const [fields, said] of bad) {
    const read = readEntry(entryOf({ v: '7', ...fields }));
    t.match(read, { seq: 41, channel: 'x', version: 7, bad: said }, JSON.stringify(fields).slice(0, 120));
  }
  t.match(readEntry(entryOf({ o: '', v: 'x' })), { version: null });
  t.match(readEntry({ id: '41-0', fields: {} }), { seq: 41, bad: /has no c/ });
  for (const id of ['', 'x', '-1', '99999999999999999-0'])
    t.throws(() => readEntry({ id, fields: {} }), /no number/, id);
});

t.test('a last value likewise', async (t) => {
  t.match(readLast('x', `${AT_MS} ${JSON.stringify(ORDERED)}`), { state: { version: 1, stamp: AT_MS } });
  for (const [text, said] of BAD_ORDERED) t.match(readLast('x', `5 ${text}`), { bad: said }, text.slice(0, 120));
  for (const text of ['', ' ', 'soon {}', `${2 ** 60} ${JSON.stringify(ORDERED)}`])
    t.match(readLast('x', text), { bad: /./ });
  t.match(readLast('x', `5 ${withNow({ song: 5 })}`), { version: 1 }, 'the next change is decided behind it');
  t.match(readLast('x', `5 ${withState({ version: 2 ** 60 })}`), { version: null });
});

t.test('texts leave as a push’s do, and what a newer version has added is kept', async (t) => {
  const text = withNow({ song: 'a\r\nb\u0000c', added: { of: 'a newer version' }, extdata: '{ "a" :\n 1.0 }' });
  const read = readEntry(entryOf({ o: text }));
  const now = 'ordered' in read ? read.ordered.state.now : null;
  t.match(now, { song: 'a bc', added: { of: 'a newer version' }, extdata: '{"a":1.0}' });
});

/** Another program that writes to the cluster's Redis. */
class Writer {
  readonly #redis: Redis;
  readonly #log: RedisLog;
  #made = 0;

  private constructor(redis: Redis, log: RedisLog) {
    this.#redis = redis;
    this.#log = log;
  }

  static async connect(t: Test, server: RedisServer): Promise<Writer> {
    const options = { url: server.url, sentinels: [], master: '', answerMs: 5000 };
    const [redis, log] = [await Redis.connect(options, {}), await RedisLog.open(options, PREFIX)];
    t.teardown(() => {
      redis.close();
      log.close();
    });
    return new Writer(redis, log);
  }

  /** @param key of the cluster's keys */
  async ask(command: string, key: string, ...args: readonly string[]): Promise<unknown> {
    return this.#redis.ask([command, `${PREFIX}${key}`, ...args]);
  }

  /** At once, so many entries of so many bytes. */
  async fill(entries: number, bytes: number): Promise<void> {
    const fill = [
      `local text = string.rep('x', ${bytes})`,
      `for i = 1, ${entries} do`,
      `local seq = redis.call('HINCRBY', '${PREFIX}meta', 'seq', 1)`,
      `redis.call('XADD', '${PREFIX}log', string.format('%.0f', seq) .. '-0', 'c', 'y', 'o', text) end`,
    ];
    await this.#redis.ask(['EVAL', fill.join(' '), '0']);
  }

  /** Commits as a node does. */
  async commit(ordered: string, history = '[]', channel = 'x'): Promise<void> {
    const epoch = await this.#log.epoch();
    const version = Number(await this.ask('HGET', 'version', channel));
    const said = { epoch: epoch!, channel, before: version, hasRecord: true, ordered, history };
    const { verdict } = await this.#log.commit(commitOf({ ...said, id: `lie.${++this.#made}`, node: 'liar' }));
    if (verdict !== 'ok') throw new Error(`a lie was not taken: ${verdict}`);
  }
}

/** The channel's next state, with this in it. */
async function commitNext(writer: Writer, said: { now?: object; state?: object; decided?: object }): Promise<void> {
  const version = Number(await writer.ask('HGET', 'version', 'x')) + 1;
  const state = { ...STATE, version, now: { ...NOW, version, ...said.now }, ...said.state };
  await writer.commit(JSON.stringify({ ...ORDERED, state, now: { ...ORDERED.now, ...said.decided } }));
}

/** Pushes at both nodes go on and lead to the same state, and neither has lost Redis. */
async function goesOn(t: Test, nodes: readonly TestNode[], what: string): Promise<void> {
  for (const node of nodes) {
    const song = `${what}, ${node.name}`;
    await node.push('x', song);
    await allUntil(nodes, ({ engine }) => engine.state('x').now?.song === song, song);
  }
  for (const node of nodes) {
    t.equal(node.reason, null, `${what}: ${node.name} is linked`);
    t.same(node.errors, [], `${what}: ${node.name} has no errors`);
  }
}

t.test(
  'lies in the log: skipped, each said once, and pushes go on at all nodes and behind a restart',
  { skip: noRedis },
  async (t) => {
    const server = await RedisServer.start(t);
    const writer = await Writer.connect(t, server);
    const [a, b] = [await startNode(t, server.url, 'a'), await startNode(t, server.url, 'b')];
    await goesOn(t, [a, b], 'before');
    for (const [text, said] of BAD_ORDERED) {
      await writer.commit(text);
      await allUntil([a, b], ({ bad }) => bad.length === 1, text.slice(0, 120));
      for (const { bad } of [a, b]) t.match(bad.splice(0), [said]);
      t.notOk(
        [a, b].some(({ reason }) => reason),
        'Redis is reached all the while',
      );
    }
    await goesOn(t, [a, b], 'behind them');
    await writer.commit(withNow({ song: 5 }));
    await allUntil([a, b], ({ bad }) => bad.length === 1, 'the last one');
    // A node that restarts with its store, and one without a store.
    await a.engine.close();
    const [again, fresh] = [
      await startNode(t, server.url, 'a', { store: a.store }),
      await startNode(t, server.url, 'c'),
    ];
    await goesOn(t, [again, b, fresh], 'behind a restart');
    t.same(again.store.history('x', { limit: 1 })[0]?.record.song, 'behind a restart, c');
  },
);

const LIES: Readonly<Record<string, (writer: Writer) => Promise<unknown>>> = {
  'a last value that is none': (writer) => writer.ask('HSET', 'last', 'x', 'nothing'),
  'a last value without a record that can be believed': (writer) =>
    writer.ask('HSET', 'last', 'x', `5 ${withNow({ song: 5 })}`),
  'a version that is none': (writer) => writer.ask('HSET', 'version', 'x', 'seven'),
  'a version past all numbers': (writer) => writer.ask('HSET', 'version', 'x', '1e300'),
  'a version of nobody': (writer) => writer.ask('HSET', 'version', 'x', '12345'),
  'a stamp past all clocks': (writer) => writer.ask('HSET', 'meta', 'stamp', `${2 ** 60}`),
  'a stamp that is none': (writer) => writer.ask('HSET', 'meta', 'stamp', 'soon'),
  'a place that is none': (writer) => writer.ask('HSET', 'meta', 'seq', 'x'),
  'a place far ahead': (writer) => writer.ask('HSET', 'meta', 'seq', '1000000'),
  'an entry far ahead': (writer) => writer.ask('XADD', 'log', '2000000-0', 'c', 'x'),
  'an entry past all numbers': (writer) => writer.ask('XADD', 'log', '18446744073709551614-0', 'c', 'x'),
  'a second entry behind a number': async (writer) => {
    const [[id]] = (await writer.ask('XREVRANGE', 'log', '+', '-', 'COUNT', '1')) as [[string]];
    return writer.ask('XADD', 'log', `${Number.parseInt(id, 10)}-7`, 'c', 'x');
  },
  'an entry without fields of ours': async (writer) => {
    const seq = Number(await writer.ask('HINCRBY', 'meta', 'seq', '1'));
    return writer.ask('XADD', 'log', `${seq}-0`, 'hello', 'world');
  },
  'an entry far ahead of all others': (writer) => writer.ask('XADD', 'log', '4000000000000000-0', 'c', 'x'),
  'an entry far ahead that was taken out again': async (writer) => {
    await writer.ask('XADD', 'log', '9000000000000000-0', 'c', 'x');
    await writer.ask('XDEL', 'log', '9000000000000000-0');
  },
  'a log that is none': async (writer) => {
    await writer.ask('DEL', 'log');
    await writer.ask('SET', 'log', 'none');
  },
  'a log and its place that were taken away': async (writer) => {
    await writer.ask('DEL', 'log');
    await writer.ask('HDEL', 'meta', 'seq');
  },
  'more in the log than one answer may have': (writer) => writer.fill(70, 1_200_000),
  'versions that are none': async (writer) => {
    await writer.ask('DEL', 'version');
    await writer.ask('SET', 'version', 'none');
  },
  // What is counted on from the highest value is past it.
  'the last stamp but one': (writer) => writer.ask('HSET', 'meta', 'stamp', `${MAX_MOMENT_MS - 1}`),
  'the highest version of a channel': (writer) => writer.ask('HSET', 'version', 'x', `${2 ** 52}`),
  'a state of the highest version': (writer) => writer.commit(withState({ version: 2 ** 52 })),
  'a record with the last stamp': (writer) => commitNext(writer, { now: { stamp: MAX_MOMENT_MS, version: 1 } }),
  'a state with the last stamp': (writer) => commitNext(writer, { state: { stamp: MAX_MOMENT_MS } }),
  'a title decided at the last moment': (writer) => commitNext(writer, { decided: { atMs: MAX_MOMENT_MS } }),
  'a title on air since the last moment': (writer) => commitNext(writer, { state: { onAirSinceMs: MAX_MOMENT_MS } }),
  'a title since the last moment': (writer) => commitNext(writer, { now: { effectAtMs: MAX_MOMENT_MS } }),
  'as many titles since the next one as there are': (writer) =>
    commitNext(writer, { state: { nowsSinceNext: MAX_COUNTED } }),
  'a version that was taken away': (writer) => writer.ask('HDEL', 'version', 'x'),
  'a version of long ago': (writer) => writer.ask('HSET', 'version', 'x', '1'),
  'a channel that was taken away': async (writer) => {
    for (const key of ['version', 'last']) await writer.ask('HDEL', key, 'x');
  },
  'a node that is none': (writer) => writer.ask('HSET', 'node', 'liar', 'now at home'),
  'an owner that is none': (writer) => writer.ask('HSET', 'owner', 'x', 'me'),
};

t.test('a node of a far future is forgotten, and no other', { skip: noRedis }, async (t) => {
  const server = await RedisServer.start(t);
  const writer = await Writer.connect(t, server);
  const { engine } = await startNode(t, server.url, 'a');
  for (const node of ['a', 'b']) await engine.lease(leaseQuestion(node, `http://${node}:1`));
  // Two days, as the clock of Redis may have been ahead; and as far as can be written.
  for (const aheadMs of [2 * 86_400_000, 900_000_000_000_000 - Date.now()]) {
    await writer.ask('HSET', 'node', 'liar', `${Date.now() + aheadMs} http://liar:1 its-process`);
    t.same([...(await engine.nodes()).keys()].sort(), ['a', 'b']);
    t.equal(await writer.ask('HGET', 'node', 'liar'), null);
  }
});

for (const [name, lie] of Object.entries(LIES))
  t.test(`another program writes to Redis: ${name}`, { skip: noRedis }, async (t) => {
    const server = await RedisServer.start(t);
    const writer = await Writer.connect(t, server);
    const [a, b] = [await startNode(t, server.url, 'a'), await startNode(t, server.url, 'b')];
    await goesOn(t, [a, b], 'before');
    await lie(writer);
    const isOver = async (node: TestNode) => {
      await node.push('x', `behind it, ${node.name}`);
      return node.reason === null;
    };
    for (const node of [a, b])
      await until(
        () => isOver(node),
        10_000,
        () => `${name}: ${node.reason?.message}`,
        100,
      );
    for (const node of [a, b]) node.errors.length = 0;
    await goesOn(t, [a, b], 'at last');
    const fresh = await startNode(t, server.url, 'c');
    await goesOn(t, [a, b, fresh], 'with another node');
    const stamps = a.delivered.map(({ change }) => change.record?.stamp ?? 0).filter((stamp) => stamp > 0);
    t.equal(new Set(stamps).size, stamps.length, 'each record has its place');
    t.ok(Math.max(...stamps) < Date.now() + 60_000, 'near the clock');
  });
