/** Machines with one Redis: an encoder anywhere, listeners everywhere, the same bytes at the same places; whoever is lost, the others play on. */

import t, { type Test } from 'tap';
import { bestOfThree } from '../kit/best-of-three.js';
import { Feeder } from '../kit/feeder.js';
import { timeOf } from '../kit/loop-delay.js';
import { allAreWell, allHear, ClusterNode, FILE_SOURCE } from '../kit/nodes.js';
import { quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { KNOWN_EVERYWHERE_MS } from '../kit/server.js';
import { StampedEncoder } from '../kit/stamped.js';
import { until } from '../kit/until.js';
import { ask, Watching } from '../kit/wire.js';

t.setTimeout(280_000);

/** Resolves when a listener would be let in at each of them. */
async function allHaveAudio(t: Test, nodes: readonly ClusterNode[]): Promise<void> {
  for (const { port, name } of nodes) {
    const has = async () => (await ask(t, port, 'GET /readyz?channels=live HTTP/1.1')).status === 200;
    await until(has, 5000, () => `${name} has no audio`);
  }
}

const encode = (t: Test, node: ClusterNode, source: number) =>
  new StampedEncoder(t, node.port, '/live', 'demo-source', 'mp3', source);

t.test(
  'an encoder at one machine, listeners at all: the same bytes, phases and titles; then it comes to another machine',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const [a, b, c] = await Promise.all([
      ClusterNode.start(t, 'a', redis),
      ClusterNode.start(t, 'b', redis),
      ClusterNode.start(t, 'c', redis, { mayFeed: false }),
    ]);
    const first = encode(t, a, 1);
    await until(
      () => first.isTaken,
      10_000,
      () => `no answer: ${first.answer} ${a.said}`,
    );
    await allHaveAudio(t, [a, b, c]);
    const listeners = [a, b, c, a, b, c].map((node, i) => node.listen(i < 4));
    const players = [a, b, c].map((node) => new Player(node.port, '/live', { keep: true }));
    t.teardown(() => {
      for (const player of players) player.close();
    });
    await allHear(listeners, 1);
    const push = await ask(t, b.port, 'GET /metapush/live/demo-token?artist=A&song=Title HTTP/1.1');
    t.equal(push.status, 200);
    for (const player of players)
      await player.until(({ titles }) => titles.some(({ title }) => title === 'A - Title'), 15_000);

    t.comment('what lies between two blocks is the same at all machines');
    await quietFor(3000);
    const [atA, atB, atC] = players.map((player) => player.audio);
    for (const [name, audio] of [
      ['b', atB!],
      ['c', atC!],
    ] as const) {
      const part = audio.subarray(0, 4096);
      const place = atA!.indexOf(part);
      const place2 = audio.indexOf(atA!.subarray(0, 4096));
      const [from, other] = place >= 0 ? [place, 0] : [0, place2];
      const length = Math.min(atA!.length - from, audio.length - other);
      t.ok(from >= 0 && other >= 0 && length > 60_000, `${name}: they overlap, by ${length} bytes`);
      t.ok(
        atA!.subarray(from, from + length).equals(audio.subarray(other, other + length)),
        `${name} plays the bytes of a`,
      );
      const metaint = players[0]!.metaint;
      t.equal(players[1]!.metaint, metaint);
      // A listener begins where a segment does: whole blocks lie between two places of the same tape.
      t.equal((from - other) % metaint, 0, `${name}: blocks stand at the same places`);
      const titleAt = (i: number) => players[i]!.titles.find(({ title }) => title === 'A - Title')!.atByte;
      t.equal(titleAt(0) - from, titleAt(name === 'b' ? 1 : 2) - other, `${name}: the title stands at the same byte`);
    }

    t.comment('the encoder is lost, and comes back at another machine');
    first.socket.destroy();
    await quietFor(300);
    const connectMs = performance.now();
    const second = encode(t, b, 2);
    await until(
      () => second.isTaken,
      5000,
      () => `no answer: ${second.answer}`,
    );
    await allHear(listeners, 2, 5000);
    t.comment(`heard everywhere ${Math.round(performance.now() - connectMs)} ms after its connect`);
    await quietFor(1500);
    allAreWell(t, listeners, 'nobody was ended, every frame is whole');
    for (const { reader } of listeners)
      t.same(
        reader.runs.map(({ source }) => source),
        [1, 2],
      );
    for (const player of players) t.notOk(player.closed);
  },
);

t.test(
  'the machine that feeds is gone: another one with a source plays on within 3 s, nobody else is ended',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const [a, b, c] = await Promise.all([
      ClusterNode.start(t, 'a', redis),
      ClusterNode.start(t, 'b', redis, { sources: ['encoder', FILE_SOURCE] }),
      ClusterNode.start(t, 'c', redis, { mayFeed: false }),
    ]);
    const listeners = [b, c, b, c].map((node, i) => node.listen(i < 2));
    await allHear(listeners, FILE_SOURCE);
    const tookMs = await bestOfThree(3000, async (attempt) => {
      if (attempt > 0) await a.start();
      const source = 10 + attempt;
      const first = encode(t, a, source);
      await until(
        () => first.isTaken,
        10_000,
        () => `no answer: ${first.answer}`,
      );
      await allHear(listeners, source, 5000);
      await a.kill();
      // What they have is played out first: it is heard when it comes.
      return timeOf(t, () => allHear(listeners, FILE_SOURCE, 6000));
    });
    t.ok(tookMs < 3000, `heard after ${Math.round(tookMs)} ms`);
    allAreWell(t, listeners, 'nobody was ended, every frame is whole');
    const second = encode(t, c, 3);
    await until(
      () => second.status !== 0,
      5000,
      () => 'no answer',
    );
    t.equal(second.status, 404, 'a machine that only serves takes no encoder');
    const third = encode(t, b, 4);
    const connectMs = performance.now();
    await allHear(listeners, 4, 5000);
    t.comment(`the encoder is heard ${Math.round(performance.now() - connectMs)} ms after its connect`);
    await a.start();
    await quietFor(2000);
    const late = a.listen();
    await allHear([...listeners, late], 4, 5000);
    allAreWell(t, [...listeners, late], 'the machine that came back follows');
    third.socket.destroy();
  },
);

t.test(
  'a metaid is found at any machine: watched, polled and reported where its stream is not',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const [a, b, c] = await Promise.all([
      ClusterNode.start(t, 'a', redis, { sources: [FILE_SOURCE] }),
      ClusterNode.start(t, 'b', redis, { mayFeed: false }),
      ClusterNode.start(t, 'c', redis, { mayFeed: false }),
    ]);
    await allHaveAudio(t, [a, b, c]);
    const metaid = 'a-secret-of-one-player';
    const poll = (node: ClusterNode, more = '') =>
      ask(t, node.port, `GET /metadata/listener/${metaid}.json${more} HTTP/1.1`);
    t.equal((await ask(t, a.port, 'GET /metapush/live/demo-token?song=One HTTP/1.1')).status, 200);
    const watchers = [a, b, c].map((node) => new Watching(t, `${node.ws}/metadata/listener/${metaid}?sync=wire`));
    await until(
      () => watchers.every(({ open }) => open),
      5000,
      () => 'a watcher is not open',
    );
    const songs = () => watchers.map(({ records }) => records.map(({ type, song }) => `${type} ${song}`).join(', '));
    const say = () => songs().join(' | ');

    t.comment('they wait, and the stream begins at b');
    const player = new Player(b.port, `/live?metaid=${metaid}`);
    t.teardown(() => player.close());
    await until(() => watchers.every(({ records }) => records.length === 1), 10_000, say);
    t.same(songs(), ['now One', 'now One', 'now One']);
    const [{ session }] = watchers[1]!.records;
    t.same(
      watchers.map(({ records }) => [records[0].session, records[0].position]),
      Array(3).fill([session, watchers[1]!.records[0].position]),
    );
    t.equal((await ask(t, c.port, 'GET /metapush/live/demo-token?song=Two HTTP/1.1')).status, 200);
    await until(() => watchers.every(({ records }) => records.length === 2), 15_000, say);
    t.same(songs(), Array(3).fill('now One, now Two'));
    t.equal(new Set(watchers.map(({ records }) => records[1].position)).size, 1, 'at the same place');
    const [atA, atB] = [await poll(a, '?sync=wire'), await poll(b, '?sync=wire')];
    t.equal(atA.status, 200);
    t.equal(atA.body, atB.body, 'a poll gives the same bytes');

    const heardMs = 100;
    const report = await ask(
      t,
      c.port,
      `POST /metadata/listener/${metaid}/heard HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${JSON.stringify({ heardMs }).length}`,
      JSON.stringify({ heardMs }),
    );
    t.equal(report.status, 204, 'a report reaches it');
    const stranger = await ask(t, a.port, 'GET /metadata/listener/nobody-at-all.json HTTP/1.1');
    t.equal(stranger.status, 404);

    t.comment('the same metaid begins anew at c: that one counts, everywhere');
    const second = new Player(c.port, `/live?metaid=${metaid}`);
    t.teardown(() => second.close());
    await until(
      async () => (await poll(a, '?sync=wire')).json().session !== session,
      10_000,
      () => 'still the first',
    );
    second.close();
    await until(
      async () => (await poll(a, '?sync=wire')).json().session === session,
      10_000,
      () => 'not the first again',
    );

    t.comment('its machine is gone: what c has had is the last that is known');
    await b.kill();
    await until(
      async () => (await poll(a, '?sync=wire')).json().session !== session,
      10_000,
      () => 'it is known still',
    );
  },
);

t.test('maxListeners of a channel is of all machines together', { skip: noRedis }, async (t) => {
  const redis = await RedisServer.start(t);
  const [a, b] = await Promise.all([
    ClusterNode.start(t, 'a', redis, { sources: [FILE_SOURCE], maxListeners: 3 }),
    ClusterNode.start(t, 'b', redis, { mayFeed: false, maxListeners: 3 }),
  ]);
  await allHaveAudio(t, [a, b]);
  const here = [a, a, b].map((node) => node.listen());
  await allHear(here, FILE_SOURCE);
  const statusAt = async (node: ClusterNode) => {
    const player = new Player(node.port, '/live');
    await until(
      () => player.status !== 0,
      5000,
      () => 'no answer',
    );
    player.close();
    return player.status;
  };
  const areFull = async () => (await statusAt(a)) === 503 && (await statusAt(b)) === 503;
  await until(areFull, 3000, () => 'a fourth one is let in');
  t.equal(await statusAt(a), 503);
  here[2]!.player.close();
  await until(
    async () => (await statusAt(a)) === 200,
    3000,
    () => 'the place at b is not free at a',
  );
  t.equal(here[0]!.player.closed, false);
  await b.kill();
  await until(
    async () => (await statusAt(a)) === 200,
    5000,
    () => 'what a lost machine had counts',
  );
});

t.test(
  'an encoder that has come and has sent nothing yet: listeners wait at every machine',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const nodes = await Promise.all([
      ClusterNode.start(t, 'a', redis),
      ClusterNode.start(t, 'b', redis),
      ClusterNode.start(t, 'c', redis, { mayFeed: false }),
    ]);
    const statuses = async () => {
      const players = nodes.map(({ port }) => new Player(port, '/live'));
      await until(
        () => players.every(({ status }) => status > 0),
        5000,
        () => 'no answer',
      );
      return players.map(({ status }) => status);
    };
    t.same(await statuses(), [503, 503, 503], 'nobody is expected');
    for (const node of nodes.slice(0, 2)) {
      t.comment(`at ${node.name}`);
      const feeder = new Feeder(t, node.port, '/live');
      t.equal(await feeder.answered(), 200);
      let players: Player[] = [];
      const allWait = async () => {
        for (const player of players) player.close();
        players = nodes.map(({ port }) => new Player(port, '/live'));
        await quietFor(500);
        return players.every(({ status }) => status === 0);
      };
      await until(
        allWait,
        KNOWN_EVERYWHERE_MS,
        () => `not all wait for its first frame: ${players.map(({ status }) => status)}`,
      );
      feeder.stream(t);
      await until(
        () => players.every(({ status }) => status === 200),
        5000,
        () => `answers: ${players.map(({ status }) => status)}`,
      );
      for (const player of players) player.close();
      feeder.socket.destroy();
      const areRefused = async () => (await statuses()).every((status) => status === 503);
      await until(areRefused, 20_000, () => 'nobody is expected any more, and listeners wait');
    }
  },
);

t.test(
  'an owner stands still for longer than its lease lasts: another one plays on, and nobody is ended',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const [a, b] = await Promise.all([
      ClusterNode.start(t, 'a', redis),
      ClusterNode.start(t, 'b', redis, { sources: ['encoder', FILE_SOURCE] }),
    ]);
    const encoder = encode(t, a, 1);
    const [here, there] = [
      [a, a].map((node, i) => node.listen(i === 0)),
      [b, b].map((node, i) => node.listen(i === 0)),
    ];
    await allHear([...here, ...there], 1, 15_000);
    const heardMs = await bestOfThree(3000, async () => {
      const before = Math.max(...there.map(({ reader }) => reader.runs.length));
      // Listeners are written to once a second, and were a moment ago: not at the bound of what is measured.
      await quietFor(500);
      let ms = 0;
      a.signal('SIGSTOP');
      try {
        ms = await timeOf(t, () => allHear(there, FILE_SOURCE, 20_000));
        await quietFor(2000);
      } finally {
        a.signal('SIGCONT');
      }
      const isBack = () =>
        [...here, ...there].every(({ reader }) => reader.runs.at(-1)?.source === 1 && reader.runs.length > before + 1);
      await until(
        isBack,
        20_000,
        () => `the encoder is not heard again: ${[...here, ...there].map(({ reader }) => JSON.stringify(reader.runs))}`,
      );
      return ms;
    });
    allAreWell(t, [...here, ...there], 'every frame is whole, on the same connections');
    t.notOk(encoder.closed);
    t.ok(heardMs < 3000, `heard after ${Math.round(heardMs)} ms`);
  },
);
