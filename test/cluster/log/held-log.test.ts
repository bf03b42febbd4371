/** What an origin holds itself is what Redis would hold: the same questions to both get the same answers, and an engine keeps the port's contract on it. */

import t from 'tap';
import { MAX_CHANNELS } from '../../../src/cluster/log/held-leases.js';
import { HeldLog, MAX_HELD_BYTES } from '../../../src/cluster/log/held-log.js';
import type { LeaseAnswer } from '../../../src/cluster/log/log-schema.js';
import { RedisLog } from '../../../src/cluster/log/redis-log.js';
import { LogLost, type OpenSharedLog, type SharedLog } from '../../../src/cluster/log/shared-log.js';
import { allUntil, benchOf, startNode } from '../../kit/cluster.js';
import { askedLease, commitOf, joining, leaseQuestion } from '../../kit/log-questions.js';
import { pause } from '../../kit/pause.js';
import { Random } from '../../kit/random.js';
import { noRedis, RedisServer } from '../../kit/redis.js';
import { patient } from '../../kit/until.js';
import { engineContract } from '../../titles/engine-contract.js';

t.setTimeout(patient(60_000));

const STEPS = 1500;
const NODES = ['a', 'b', 'c'];
const CHANNELS = ['x', 'y'];
/** Of a lease here, and of what is stale: steps of a story lie on neither side of them by chance. */
const LASTS_MS = 60_000;

/** An entry's moment, a seen node's and a record's are the only things that may differ. */
function withoutTimes(text: string): string {
  return text.replaceAll(/\b1[789]\d{11}\b/g, 'NOW');
}

/** Epochs of leases, and versions of facts, count from the second in which each was first asked for. */
function sinceFirst(
  { leases, isNameTaken }: LeaseAnswer,
  first: Map<string, number>,
  channels: readonly string[],
): string {
  const relative = leases.map((lease, i) => {
    const { node, epoch, version } = lease;
    const channel = channels[i]!;
    if (!first.has(channel) && node !== '') first.set(channel, epoch);
    const since = first.get(channel);
    return { ...lease, epoch: epoch - (since ?? epoch), version: version > 0 ? version - since! : version };
  });
  return seen([relative, isNameTaken]);
}

const seen = (answer: unknown): string => withoutTimes(JSON.stringify(answer));

t.test('the same questions get the same answers, by seed', { skip: noRedis }, async (t) => {
  const server = await RedisServer.start(t);
  const random = new Random();
  const options = { url: server.url, sentinels: [], master: '', answerMs: 5000 };
  const both: readonly SharedLog[] = [await RedisLog.open(options, 'p:'), new HeldLog().open()];
  t.teardown(() => {
    for (const log of both) log.close();
  });
  const versions = new Map(CHANNELS.map((channel) => [channel, 0]));
  const any = <T>(all: readonly T[]): T => all[random.int(0, all.length - 1)]!;
  let epoch = 'first';
  let ids = 0;
  let lastId = '';
  const counts: Record<string, number> = {};
  const firsts = [new Map<string, number>(), new Map<string, number>()];
  const factsKnown = [new Map<string, number>(), new Map<string, number>()];
  const same = async <T>(
    name: string,
    ask: (log: SharedLog) => Promise<T>,
    form: (answer: T, which: number) => string = seen,
  ) => {
    const [redis, held] = (await Promise.all(both.map(ask))) as [T, T];
    if (form(redis, 0) !== form(held, 1)) {
      throw new Error(`SEED=${random.seed}: ${name}: Redis ${form(redis, 0)}, held ${form(held, 1)}`);
    }
    return [redis, held] as const;
  };
  // Each has an epoch of its own until one is given to both.
  const hello = async (step: number) => {
    epoch = `epoch ${step}`;
    const entries = await both[0]!.entriesAfter(0, 10_000, 1);
    const seq = Number((entries.at(-1)?.id ?? '0').split('-')[0]);
    await same('hello of who has more', async (log) => {
      const known = (await log.epoch()) ?? '';
      return await log.hello(joining({ freshEpoch: epoch, epoch: known, seq: seq + 5, lastStamp: 7 }));
    });
    await same('hello of who goes on', (log) => log.hello(joining({ epoch, seq })));
    const place = random.int(0, seq);
    const id = entries.find((entry) => entry.id === `${place}-0`)?.fields['p'] ?? '';
    await same('hello from a place', (log) => log.hello(joining({ epoch, seq: place, id })));
  };
  await Promise.all(both.map((log) => log.hello(joining({ freshEpoch: epoch }))));
  await hello(0);
  for (let step = 1; step <= STEPS; step++) {
    const kind = random.next();
    const [node, channel] = [any(NODES), any(CHANNELS)];
    if (kind < 0.45) {
      const before = versions.get(channel)! - (random.chance(0.15) ? 1 : 0);
      const id = random.chance(0.1) ? lastId : `${++ids}`;
      const hasRecord = random.chance(0.7);
      const said = { epoch: random.chance(0.05) ? 'another' : epoch, channel, before, hasRecord, id, node };
      const change = commitOf({ ...said, ordered: `{"n":${ids}}`, logEntries: 10_000 });
      const [{ verdict }] = await same('commit', (log) => log.commit(change));
      counts[verdict] = (counts[verdict] ?? 0) + 1;
      if (verdict === 'ok') versions.set(channel, before + 1);
      lastId = id;
    } else if (kind < 0.85) {
      const channels = CHANNELS.filter(() => random.chance(0.7));
      const asks = channels.map((key) => ({
        asked: askedLease(key, {
          wish: any([0, 1, 2, 3, 4]),
          rank: any([0, 0.5, 1, 2, 998, 999]),
          facts: random.chance(0.3) ? `{"said":${step}}` : '',
        }),
        knows: any(['nothing', 'something', 'the last']),
      }));
      const knownAt = (which: number, channel: string, knows: string) =>
        knows === 'nothing' ? null : (knows === 'the last' && factsKnown[which]!.get(channel)) || 1;
      const leasesOf = (which: number) =>
        asks.map(({ asked, knows }) => ({ ...asked, known: knownAt(which, asked.channel, knows) }));
      const url = random.chance(0.05) ? 'http://twice' : `http://${node}`;
      const staleMs = random.chance(0.2) ? -1 : LASTS_MS;
      await same(
        'lease',
        (log) => log.lease({ node, url, run: url, lastsMs: LASTS_MS, staleMs, leases: leasesOf(both.indexOf(log)) }),
        (answer, which) => {
          for (const [i, key] of channels.entries()) factsKnown[which]!.set(key, answer.leases[i]!.version);
          return sinceFirst(answer, firsts[which]!, channels);
        },
      );
      counts['lease'] = (counts['lease'] ?? 0) + 1;
    } else if (kind < 0.95) {
      const asked = random.chance(0.5) ? ['none', ...CHANNELS] : [channel, 'none'];
      await same(
        'last',
        (log) => log.last(asked),
        (answer) => seen([...answer].sort()),
      );
      await same(
        'nodes',
        (log) => log.nodes(),
        (answer) => seen([...answer].sort()),
      );
      await same('the newest entries', async (log) => {
        const all = await log.entriesAfter(0, 10_000, 1);
        return all.slice(-10);
      });
    } else if (random.chance(0.3)) await hello(step);
    else
      await same(
        'forget',
        (log) => log.forget([node]),
        () => '',
      );
  }
  t.comment(JSON.stringify(counts));
  for (const kind of ['ok', 'stale', 'done', 'epoch', 'lease']) t.ok(counts[kind]! > 0, `${kind}: ${counts[kind]}`);
});

t.test('its log is bounded, and who waits at it is woken', async (t) => {
  const held = new HeldLog();
  const log = held.open();
  const epoch = (await log.epoch())!;
  const commit = (version: number, most: number) =>
    log.commit(commitOf({ epoch, before: version - 1, id: `${version}`, logEntries: most }));
  const woken = log.entriesAfter(0, 10, 5000);
  await commit(1, 50);
  t.equal((await woken).length, 1);
  for (let version = 2; version <= 200; version++) await commit(version, 50);
  const kept = await log.entriesAfter(0, 1000, 1);
  t.ok(kept.length >= 50 && kept.length <= 55, `${kept.length} entries`);
  t.equal(kept.at(-1)!.id, '200-0');
  t.same(await log.entriesAfter(200, 10, 20), [], 'none has come');
  const waits = log.entriesAfter(200, 10, 5000);
  await pause(20);
  log.close();
  await t.rejects(waits, LogLost, 'who waits when it is closed');
  await t.rejects(log.timeMs(), LogLost);
  t.ok(log.isLost);
});

t.test('the contract', async (t) => {
  let isAway = false;
  let held = new HeldLog();
  const ways = new Set<SharedLog>();
  const open: OpenSharedLog = async (onLost) => {
    if (isAway) throw new LogLost('away');
    const way = held.open(onLost);
    ways.add(way);
    return way;
  };
  await engineContract(t, async () => {
    held = new HeldLog();
    return benchOf(await startNode(t, open, 'a'), (isFailing) => {
      isAway = isFailing;
      if (isFailing) for (const way of ways) way.close();
    });
  });
});

t.test('one that has begun anew is filled from the nodes', async (t) => {
  let held = new HeldLog();
  const ways: SharedLog[] = [];
  const open: OpenSharedLog = async (onLost) => {
    const way = held.open(onLost);
    ways.push(way);
    return way;
  };
  const [a, b] = [await startNode(t, open, 'a'), await startNode(t, open, 'b')];
  await a.push('x', 'One');
  await b.push('y', 'Two');
  await allUntil([a, b], ({ songs }) => songs('x').length === 1 && songs('y').length === 1, 'both have both');
  held = new HeldLog();
  for (const way of ways) way.close();
  await allUntil([a, b], ({ engine, reason }) => engine.isReached && reason === null, 'there again');
  await a.push('x', 'Three');
  const all = (songs: (channel: string) => string[]) => `${songs('x')} ${songs('y')}`;
  await allUntil([a, b], ({ songs }) => all(songs) === 'One,Three Two', 'each title once');
  const c = await startNode(t, open, 'c');
  t.equal(c.engine.state('x').now?.song, 'Three');
  t.equal(c.engine.state('y').now?.song, 'Two', 'who comes new has what the others had');
});

t.test('where the clock of the origin is set, no lease ends, and no name is there twice', async (t) => {
  let wallMs = Date.UTC(2026, 10, 20);
  const log = new HeldLog(() => wallMs).open();
  const ask = async (node: string, wish: 1 | 2, rank: number) =>
    await log.lease(leaseQuestion(node, `http://${node}`, askedLease('x', { wish, rank })));
  t.equal((await ask('a', 2, 0)).leases[0]?.node, 'a');
  for (const stepMs of [86_400_000, -2 * 86_400_000, 600_000]) {
    wallMs += stepMs;
    const answer = await ask('b', 1, 999);
    t.equal(answer.leases[0]?.node, 'a', `${stepMs}: it is still the owner's`);
    t.equal(answer.isNameTaken, false);
    t.equal(await log.timeMs(), wallMs);
  }
});

t.test('what other machines say makes it hold no more than it may', async (t) => {
  const held = new HeldLog(Date.now, 100);
  const { epoch } = held.hello(joining());
  const commit = (channel: string, text: string, most = 1e9, id = channel, before = 0) =>
    held.commit(commitOf({ epoch: held.epoch, channel, before, ordered: text, id, node: 'liar', logEntries: most }));
  t.ok(epoch);
  for (let i = 0; i < MAX_CHANNELS; i++) commit(`c${i}`, '{}');
  t.throws(() => commit('one-more', '{}'), /20000 channels at most/);
  t.ok(held.after(0, 1000).length <= 110, 'the log is as long as it is configured here');
  const text = 'x'.repeat(MAX_HELD_BYTES / 4);
  for (let i = 0; i < 3; i++) t.equal(commit(`c${i}`, text, 1e9, `long ${i}`, 1).verdict, 'ok');
  t.throws(() => commit('c3', text, 1e9, 'long', 1), /bytes of last values at most/);
  for (let version = 2; version < 8; version++) commit('c0', text, 1e9, `again ${version}`, version);
  t.ok(held.after(0, 1000).length <= 4, 'and as many bytes');
  const ask = (node: string, channel: string, facts = '') =>
    held.lease(leaseQuestion(node, `http://${node}`, askedLease(channel, { wish: 2, rank: 1, facts })));
  for (let i = 0; i < 1001; i++) ask(`n${i}`, 'live');
  t.equal(held.nodes.size, 1000);
  t.notOk(held.nodes.has('n0'));
  t.throws(() => ask('n1', 'live', 'x'.repeat(1024 * 1024 + 1)), /facts of more than/);
  for (let i = 1; i < MAX_CHANNELS; i++) ask('n1', `c${i}`);
  t.throws(() => ask('n1', 'one-more'), /20000 channels at most/);
});
