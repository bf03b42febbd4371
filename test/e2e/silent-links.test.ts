/**
 * Links between machines that are dead but not closed (a proxy that passes nothing, in one direction or both), while all machines reach Redis. They are closed
 * within 3 s, which is logged once; listeners hear their own machine's source; when the network works again, all is as before.
 */

import t, { type Test } from 'tap';
import { allAreWell, allHear, ClusterNode, FILE_SOURCE, type NodeSetting } from '../kit/nodes.js';
import { quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { Receiver } from '../kit/receiver.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import type { StampedListener } from '../kit/reload-clients.js';
import { SilentProxy, type Way } from '../kit/silent-proxy.js';
import { FRAME_MS, StampedEncoder } from '../kit/stamped.js';
import { patient, until } from '../kit/until.js';
import { ask, Watching } from '../kit/wire.js';

t.setTimeout(patient(120_000));

/** What is promised, and what a busy machine needs to say it. */
const ENDED_MS = 3000;
const LATE_MS = 1500;
const FELL_SILENT = 'another machine does not respond: its connection was closed';
const DOES_NOT_COME = 'no audio arrives from the machine that feeds the channel';
const ALONE = 'this machine feeds the channel for its own listeners';
const COMES_AGAIN = 'audio is back from the machine that feeds the channel';
/** A listener that moves to another tape gets again what its player lacks of its burst (5 s), and is written to once a second. */
const LANDS_WITHIN_MS = 8000;

/** Behind a proxy of its own. */
async function start(t: Test, name: string, common: RedisServer | ClusterNode | null, setting: NodeSetting = {}) {
  const node = await ClusterNode.start(t, name, common, { workers: 1, isBehindProxy: true, ...setting });
  return { node, proxy: await SilentProxy.open(t, node.proxyPort, node.tapesPort) };
}

const times = (node: ClusterNode, line: string) => node.said.split(line).length - 1;

async function says(node: ClusterNode, line: string, count: number, ms = 20_000): Promise<number> {
  const beganMs = performance.now();
  await until(
    () => times(node, line) >= count,
    ms,
    () => `${node.name} does not say "${line}" for the ${count}. time: ${node.said}`,
  );
  return performance.now() - beganMs;
}

/** An encoder at one machine. Resolves when a listener would be let in at each. */
async function encodeAt(t: Test, node: ClusterNode, nodes: readonly ClusterNode[]): Promise<void> {
  await new StampedEncoder(t, node.port, '/live', 'demo-source', 'mp3', 1).taken();
  for (const { port, name } of nodes) {
    await until(
      async () => (await ask(t, port, 'GET /readyz?channels=live HTTP/1.1')).status === 200,
      10_000,
      () => `${name} has no audio`,
    );
  }
}

const lastFrame = ({ reader }: StampedListener) => reader.runs.at(-1)!.last;

/** Resolves when each has begun to hear this source: how far behind the edge, of which one listener hears, that was, at most. */
async function landings(listeners: readonly StampedListener[], edge: StampedListener, source: number): Promise<number> {
  const behind = new Map<StampedListener, number>();
  await until(
    () => {
      for (const listener of listeners) {
        const run = listener.reader.runs.at(-1)!;
        if (run.source === source && !behind.has(listener)) behind.set(listener, lastFrame(edge) - run.first);
      }
      return behind.size === listeners.length;
    },
    20_000,
    () => `${source} is not heard: ${listeners.map(({ reader }) => JSON.stringify(reader.runs))}`,
  );
  return Math.max(...behind.values()) * FRAME_MS.mp3;
}

t.test('the tape of the machine that feeds: its own source is heard meanwhile', { skip: noRedis }, async (t) => {
  const redis = await RedisServer.start(t);
  const receiver = await Receiver.open(t);
  const more = `alerts: { webhooks: [{ url: '${receiver.url}', events: [tape-lost] }], afterSeconds: 0.5, againSeconds: 0 }`;
  const [{ node: a, proxy }, { node: b }] = await Promise.all([
    start(t, 'a', redis),
    start(t, 'b', redis, { sources: ['encoder', FILE_SOURCE], more }),
  ]);
  await encodeAt(t, a, [a, b]);
  const there = Array.from({ length: 10 }, (_, i) => b.listen(i % 2 === 0));
  const here = [true, false].map((icy) => a.listen(icy));
  await allHear([...here, ...there], 1, 20_000);
  // There is something to land far back on.
  await quietFor(12_000);
  // b had the channel until the encoder came, so the first may have been heard for a moment.
  const before = here.map(({ reader }) => reader.runs.length);

  const kinds: readonly (readonly Way[])[] = [[], ['back'], ['there']];
  for (const [i, ways] of kinds.entries()) {
    const name = ways[0] ?? 'both ways';
    const silentMs = performance.now();
    proxy.silence(...ways);
    await says(b, DOES_NOT_COME, i + 1);
    const endedMs = performance.now() - silentMs;
    await allHear(there, FILE_SOURCE, 20_000);
    t.comment(
      `${name}: known after ${Math.round(endedMs)} ms, heard after ${Math.round(performance.now() - silentMs)} ms`,
    );
    // Its audio comes until the other end has ended it.
    const comesMs = ways[0] === 'there' ? ENDED_MS : 0;
    t.ok(endedMs - comesMs < ENDED_MS + LATE_MS, `${name}: within 3 s`);
    await until(() => receiver.of('tape-lost').length === 2 * i + 1, 20_000);
    const { body: metrics } = await ask(t, b.port, 'GET /metrics HTTP/1.1');
    t.match(metrics, /^airsplice_cluster_tape_lost\{channel="live",node="a"\} 1$/m, 'a metric says it');
    // More than what an owner that is not asked for its tape waits for.
    await quietFor(4000);
    const runs = there.map(({ reader }) => reader.runs.length);
    t.same([times(b, ALONE), times(b, DOES_NOT_COME), times(b, COMES_AGAIN)], [i + 1, i + 1, i], 'each is said once');
    const ended = [a, b].map((node) => times(node, FELL_SILENT));
    t.ok(ended[0]! <= i + 1 && ended[1]! <= i + 1, `each end is said once at most: ${ended}`);
    t.ok(ended[0]! + ended[1]! > i, 'and at one of them at least');
    proxy.pass();
    const behindMs = await landings(there, here[0]!, 1);
    t.comment(`${Math.round(behindMs)} ms before the edge`);
    t.ok(behindMs < LANDS_WITHIN_MS, 'nothing is heard again that is long past');
    await says(b, COMES_AGAIN, i + 1);
    await until(() => receiver.of('tape-lost').length === 2 * i + 2, 20_000);
    t.same(
      there.map(({ reader }) => reader.runs.length),
      runs.map((count) => count + 1),
      'they move once',
    );
    allAreWell(t, [...here, ...there], name);
  }
  t.same(
    here.map(({ reader }) => reader.runs.length),
    before,
    'listeners of the machine that feeds notice nothing',
  );
  t.same(receiver.of('tape-lost'), [
    'firing live',
    'resolved live',
    'firing live',
    'resolved live',
    'firing live',
    'resolved live',
  ]);
});

t.test(
  'the same without a source of its own: there is no audio, and listeners are sent away',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const silence = 'streams: { silenceSeconds: 2 }';
    const [{ node: a, proxy }, { node: b }] = await Promise.all([
      start(t, 'a', redis),
      start(t, 'b', redis, { mayFeed: false, more: silence }),
    ]);
    await encodeAt(t, a, [a, b]);
    const [here, there] = [a.listen(), b.listen()];
    await allHear([here, there], 1, 20_000);
    const readiness = async () => (await ask(t, b.port, 'GET /readyz?channels=live HTTP/1.1')).status;
    t.equal(await readiness(), 200);
    proxy.silence();
    await says(b, DOES_NOT_COME, 1);
    await until(
      () => there.player.closed,
      10_000,
      () => 'who listens is not ended, though nothing comes',
    );
    t.equal(await readiness(), 503);
    const late = new Player(b.port, '/live');
    t.teardown(() => late.close());
    await until(() => late.status !== 0, 20_000);
    t.equal(late.status, 503, 'who comes is sent elsewhere');
    proxy.pass();
    await says(b, COMES_AGAIN, 1);
    await until(async () => (await readiness()) === 200, 10_000);
    await allHear([here, b.listen()], 1, 10_000);
    t.equal(times(b, DOES_NOT_COME), 1);
    allAreWell(t, [here], 'listeners of the machine that feeds notice nothing');
  },
);

t.test('sessions of the other machine', { skip: noRedis }, async (t) => {
  const redis = await RedisServer.start(t);
  const [{ node: a }, { node: b, proxy }] = await Promise.all([
    start(t, 'a', redis, { sources: [FILE_SOURCE] }),
    start(t, 'b', redis, { mayFeed: false }),
  ]);
  t.equal((await ask(t, a.port, 'GET /metapush/live/demo-token?song=One HTTP/1.1')).status, 200);
  const listener = b.listen();
  await allHear([listener], FILE_SOURCE, 20_000);
  const player = new Player(b.port, '/live?metaid=a-secret-of-one-player');
  t.teardown(() => player.close());
  const poll = async () =>
    (await ask(t, a.port, 'GET /metadata/listener/a-secret-of-one-player.json?sync=wire HTTP/1.1')).status;
  await until(async () => (await poll()) === 200, 20_000);
  const kinds: readonly (readonly Way[])[] = [[], ['there'], ['back']];
  for (const [i, ways] of kinds.entries()) {
    const name = ways[0] ?? 'both ways';
    const silentMs = performance.now();
    proxy.silence(...ways);
    await until(() => times(a, FELL_SILENT) + times(b, FELL_SILENT) > i, 20_000);
    const endedMs = performance.now() - silentMs;
    t.ok(endedMs < ENDED_MS + LATE_MS, `${name}: ended after ${Math.round(endedMs)} ms`);
    await quietFor(2000);
    t.ok(times(a, FELL_SILENT) <= i + 1 && times(b, FELL_SILENT) <= i + 1, 'each end says it once at most');
    proxy.pass();
    await until(async () => (await poll()) === 200, 20_000);
    t.pass('it is found again');
  }
  allAreWell(t, [listener], 'audio goes another way');
});

t.test('what all have in common, at an origin', async (t) => {
  const { node: a, proxy } = await start(t, 'a', null, { sources: [FILE_SOURCE] });
  const { node: b } = await start(t, 'b', a, { mayFeed: false });
  const watchers = [a, b].map((node) => new Watching(t, `${node.ws}/metadata/channel/live`));
  const push = async (node: ClusterNode, song: string) =>
    (await ask(t, node.port, `GET /metapush/live/demo-token?song=${song} HTTP/1.1`)).status;
  const songs = () => watchers.map(({ records }) => records.map(({ song }) => song));
  const allHave = (song: string) =>
    until(
      () => songs().every((each) => each.at(-1) === song),
      20_000,
      () => JSON.stringify(songs()),
    );
  t.equal(await push(a, 'First'), 200);
  await allHave('First');
  const AWAY = 'is unreachable: titles are kept here';
  const REACHED = 'is reachable: titles are shared';
  const kinds: readonly (readonly Way[])[] = [[], ['there'], ['back']];
  for (const [i, ways] of kinds.entries()) {
    const name = ways[0] ?? 'both ways';
    const silentMs = performance.now();
    proxy.silence(...ways);
    await says(b, AWAY, i + 1);
    const endedMs = performance.now() - silentMs;
    t.ok(endedMs < ENDED_MS + LATE_MS, `${name}: ended after ${Math.round(endedMs)} ms`);
    t.equal(await push(b, `Apart-${i}`), 200);
    await quietFor(2000);
    t.equal(times(b, AWAY), i + 1, 'it is said once');
    proxy.pass();
    await says(b, REACHED, i + 2);
    await allHave(`Apart-${i}`);
  }
});

t.test('Redis is emptied, again and again: no listener at any machine misses a frame', { skip: noRedis }, async (t) => {
  const redis = await RedisServer.start(t);
  const nodes = await Promise.all([
    ClusterNode.start(t, 'a', redis),
    ClusterNode.start(t, 'b', redis, { workers: 1 }),
    ClusterNode.start(t, 'c', redis, { workers: 1 }),
    // Without a listener that machine has no link to the one that feeds.
    ClusterNode.start(t, 'd', redis, { workers: 1 }),
  ]);
  await encodeAt(t, nodes[0], nodes);
  const listeners = nodes.slice(0, 3).flatMap((node) => [node.listen(true), node.listen(false)]);
  await allHear(listeners, 1, 20_000);
  // Before the encoder came, any of them may have had the lease.
  const took = () => nodes.slice(1).map((node) => times(node, 'this machine feeds the channel'));
  const before = took();
  for (let i = 0; i < 8; i++) {
    await redis.flush();
    await quietFor(1500 + 137 * i);
    allAreWell(t, listeners, `emptied ${i + 1} times`);
    t.same(
      listeners.map(({ reader }) => reader.runs.length),
      listeners.map(() => 1),
      'frame by frame',
    );
  }
  const heard = listeners.map(lastFrame);
  await until(() => listeners.every((listener, i) => lastFrame(listener) > heard[i]! + 50), 20_000);
  t.same(took(), before, 'no other machine takes the channel');
});
