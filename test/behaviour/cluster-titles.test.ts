/** Two machines with Redis between them: what is pushed to one is read at the other, whatever happens to Redis. With workers too (TEST_WORKERS). */

import t, { type Test } from 'tap';
import { bestOfThree } from '../kit/best-of-three.js';
import { Events } from '../kit/events.js';
import { isLong } from '../kit/long.js';
import { timeOf } from '../kit/loop-delay.js';
import { pause, quietFor } from '../kit/pause.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { startServer, type TestServer } from '../kit/server.js';
import { StampedEncoder } from '../kit/stamped.js';
import { until } from '../kit/until.js';
import { ask, Watching } from '../kit/wire.js';

t.setTimeout(240_000);

const PUSHES = 10;
/** For how long Redis is away under them. */
const AWAY_MS = isLong ? 60_000 : 500;

const yaml = (redis: RedisServer, node: string, more = '') => `
addresses: [{ host: 127.0.0.1, port: 0 }]
cluster: { url: ${redis.url}, node: ${node}, answerSeconds: 0.5 }
stations:
  house:
    channels:
      live: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] }
      talk: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] }
${more}`;

async function push(t: Test, { port }: TestServer, query: string, channel = 'live'): Promise<number> {
  return (await ask(t, port, `GET /metapush/${channel}/demo-token?${query} HTTP/1.1`)).status;
}

async function nowOf(t: Test, { port }: TestServer, channel = 'live', extension = 'json'): Promise<string> {
  const answer = await ask(t, port, `GET /metadata/channel/${channel}.${extension} HTTP/1.1`);
  return answer.status === 200 ? answer.json().song : `${answer.status}`;
}

/** Where a record reads otherwise its own readers have it otherwise: all but where and when it was asked for. */
async function bytesOf(t: Test, { port }: TestServer, path: string): Promise<string> {
  return (await ask(t, port, `GET /metadata/${path} HTTP/1.1`)).body;
}

t.test(
  'a push to one machine is read at the other: polls, WebSocket, SSE, history, next, held, corrections',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const [a, b] = await Promise.all([startServer(t, yaml(redis, 'a')), startServer(t, yaml(redis, 'b'))]);
    const watching = new Watching(t, `${b.ws}/metadata/channel/live`);
    const station = new Events(t, b.port, 'station/house');
    await station.opened();
    await until(
      () => watching.open,
      5000,
      () => 'the watcher is not open',
    );

    t.equal(await push(t, a, 'artist=A&song=One&id=1&duration=200'), 200);
    t.equal(await push(t, b, 'artist=B&song=Two&id=2'), 200);
    t.equal(await push(t, a, 'artist=C&song=Three&id=3&tracktype=next'), 200);
    await until(
      () => watching.records.length === 3,
      5000,
      () => `watcher: ${watching.records.length}`,
    );
    t.same(
      watching.records.map(({ type, song }) => `${type} ${song}`),
      ['now One', 'now Two', 'next Three'],
    );
    await station.has(3);
    t.same(station.songs, ['now One', 'now Two', 'next Three']);
    for (const path of [
      'channel/live.json',
      'channel/live.json?type=next',
      'station/house.json',
      'channel/live/history.json',
    ]) {
      t.equal(await bytesOf(t, a, path), await bytesOf(t, b, path), `the same bytes: ${path}`);
    }

    t.equal(await push(t, b, 'artist=B&song=Two%20live&id=2'), 200, 'a correction on the other machine');
    await until(
      () => watching.records.at(-1)?.song === 'Two live',
      5000,
      () => 'no correction',
    );
    const time = Math.ceil(Date.now() / 1000) + 2;
    t.equal(await push(t, a, `song=Held&time=${time}&id=h`), 200);
    t.equal(await nowOf(t, b), 'Two live', 'it waits');
    await until(
      async () => (await nowOf(t, b)) === 'Held' && (await nowOf(t, a)) === 'Held',
      10_000,
      () => 'never its time',
    );
    t.ok(Date.now() >= time * 1000, 'not before its time');
    await until(
      () => watching.records.at(-1)?.song === 'Held',
      5000,
      () => 'not told',
    );
    t.equal(watching.records.filter(({ song }) => song === 'Held').length, 1, 'once, though both machines held it');

    t.comment('a reader goes on at the other machine');
    const { lastId } = station;
    station.close();
    t.equal(await push(t, a, 'song=Talk', 'talk'), 200);
    const resumed = new Events(t, a.port, 'station/house', `Last-Event-ID: ${lastId}\r\n`);
    await resumed.has(1);
    await quietFor(200);
    t.same(resumed.songs, ['now Talk'], 'what it has seen there is not told again');
  },
);

t.test(
  'Redis dies under pushes: nobody notices where it was pushed, the others have it within a second of its return',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const [a, b] = await Promise.all([startServer(t, yaml(redis, 'a')), startServer(t, yaml(redis, 'b'))]);
    const [atA, atB] = [a, b].map(({ ws }) => new Watching(t, `${ws}/metadata/channel/live`));
    await until(
      () => atA!.open && atB!.open,
      5000,
      () => 'watchers are not open',
    );
    t.equal(await push(t, a, 'song=0'), 200);
    await until(
      () => atB!.records.length === 1,
      5000,
      () => 'the first',
    );
    let pushed = 0;
    const tookMs = await bestOfThree(1000, async () => {
      const before = pushed;
      await redis.kill();
      for (let i = 0; i < PUSHES; i++) {
        t.equal(await push(t, a, `song=${++pushed}`), 200);
        t.equal(await nowOf(t, a), `${pushed}`, 'it is shown there');
        await pause(AWAY_MS / PUSHES);
      }
      t.equal(await nowOf(t, b), `${before}`, 'the other machine reads on what it has');
      const ready = await ask(t, b.port, 'GET /readyz HTTP/1.1');
      t.equal(ready.status, 200, 'and is ready');
      await redis.start();
      return timeOf(t, () =>
        until(
          () => atB!.records.at(-1)?.song === `${pushed}`,
          5000,
          () => `at b: ${atB!.records.at(-1)?.song}`,
        ),
      );
    });
    t.ok(tookMs < 1000, `within a second: ${Math.round(tookMs)} ms`);
    const all = Array.from({ length: pushed + 1 }, (_, i) => `${i}`);
    t.same(
      atA!.records.map(({ song }) => song),
      all,
    );
    t.same(
      atB!.records.map(({ song }) => song),
      all,
    );
    t.equal(await bytesOf(t, a, 'channel/live/history.json'), await bytesOf(t, b, 'channel/live/history.json'));
  },
);

t.test(
  'a machine that starts has what the others have; one without Redis starts with what it had',
  { skip: noRedis },
  async (t) => {
    const redis = await RedisServer.start(t);
    const a = await startServer(t, yaml(redis, 'a'));
    t.equal(await push(t, a, 'song=One&id=1'), 200);
    const b = await startServer(t, yaml(redis, 'b'));
    t.equal(await nowOf(t, b), 'One', 'from the start');
    await b.reload(
      yaml(
        redis,
        'b',
        '      late: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] }\n',
      ),
    );
    await a.reload(
      yaml(
        redis,
        'a',
        '      late: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] }\n',
      ),
    );
    t.equal(await push(t, b, 'song=Late', 'late'), 200);
    await until(
      async () => (await nowOf(t, a, 'late')) === 'Late',
      5000,
      () => 'a channel that came by reload',
    );
    await redis.kill();
    const c = await startServer(t, yaml(redis, 'c'));
    t.equal(await push(t, c, 'song=Alone'), 200);
    t.equal(await nowOf(t, c), 'Alone');
  },
);

/** Each machine has its own audio: of two channels, one with the fallback title while its source is lost. */
const own = (redis: RedisServer, node: string, words: string) => `
addresses: [{ host: 127.0.0.1, port: 0 }]
cluster: { url: ${redis.url}, node: ${node}, answerSeconds: 0.5 }
stations:
  house:
    channels:
      live: { pushTokens: [demo-token], fallback: { song: ${words}, graceSeconds: 0 }, sources: [{ type: encoder, password: demo-source }] }
      talk: { pushTokens: [demo-token], fallback: { song: Lost, whenSourceLost: true }, sources: [{ type: encoder, password: demo-source }] }
`;

t.test('machines with audio of their own do not correct each other', { skip: noRedis }, async (t) => {
  const redis = await RedisServer.start(t);
  const [a, b] = [await startServer(t, own(redis, 'a', 'Coast')), await startServer(t, own(redis, 'b', 'City'))];
  const watch = async (server: TestServer, channel: string) => {
    const watching = new Watching(t, `${server.ws}/metadata/channel/${channel}`);
    return watching.opened();
  };
  const songs = ({ records }: Watching) => records.map(({ song }) => song);

  t.comment('other words for the fallback title, as while one after the other is reloaded');
  const [live, there] = [await watch(a, 'live'), await watch(b, 'live')];
  t.equal(await push(t, a, 'song=One&duration=1'), 200);
  await until(
    () => /Coast|City/.test(`${songs(live)}`),
    10_000,
    () => `${songs(live)}`,
  );
  await quietFor(1500);
  t.ok(songs(live).length <= 3, `once: ${songs(live).slice(0, 20)}`);
  const before = songs(live).length;
  await a.reload(own(redis, 'a', 'Hills'));
  await until(
    () => songs(there).at(-1) === 'Hills',
    5000,
    () => `another configuration is not in force: ${songs(there)}`,
  );
  await quietFor(1500);
  t.equal(songs(live).length, before + 1);

  t.comment('a source at one of them alone');
  const encoder = new StampedEncoder(t, a.port, '/talk', 'demo-source', 'mp3', 1);
  await until(
    () => encoder.isTaken,
    10_000,
    () => `${encoder.answer}`,
  );
  const talk = await watch(b, 'talk');
  await quietFor(1500);
  t.equal(await push(t, a, 'song=Talk', 'talk'), 200);
  await quietFor(3500);
  t.same(songs(talk).slice(songs(talk).indexOf('Talk')), ['Talk'], 'it stands');
  encoder.socket.destroy();
  await until(
    () => songs(talk).at(-1) === 'Lost',
    20_000,
    () => `${songs(talk)}`,
  );

  t.comment('sources at both: the title that one of them says');
  const encoders = [a, b].map(({ port }, i) => new StampedEncoder(t, port, '/live', 'demo-source', 'mp3', 2 + i));
  await until(
    () => encoders.every(({ isTaken }) => isTaken),
    10_000,
    () => 'not accepted',
  );
  // By then a source should have said its title.
  await quietFor(6000);
  const authorization = `Basic ${Buffer.from('source:demo-source').toString('base64')}`;
  const url = `http://127.0.0.1:${a.port}/admin/metadata?mode=updinfo&mount=/live&song=Said`;
  t.equal((await fetch(url, { headers: { authorization } })).status, 200);
  await until(
    () => songs(there).includes('Said'),
    5000,
    () => `${songs(there)}`,
  );
  await quietFor(3000);
  t.equal(songs(there).at(-1), 'Said');
});
