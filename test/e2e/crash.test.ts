/** What an operator relies on: nothing answered is lost by kill -9, a stop drains, a second server is refused, the demo starts. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { leftover } from '../kit/frame-recorder.js';
import { isLong } from '../kit/long.js';
import { MachineDelay } from '../kit/machine-delay.js';
import { pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { Random } from '../kit/random.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

// They wait more than they compute.
t.jobs = 5;

const ROUNDS = isLong ? 24 : 8;

async function push(base: string, channel: string, query: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${base}/metapush/${channel}/${channel}-token?${query}`);
  if (response.status !== 200) throw new Error(`push: ${response.status}`);
  return (await response.json()) as Record<string, unknown>;
}

async function json(url: string): Promise<Record<string, unknown>> {
  return (await (await fetch(url)).json()) as Record<string, unknown>;
}

/** What a stop may take; with half of it left, no client that stays was waited for to the end. */
const GRACE_MS = 8000;

function configIn(folder: string, port: number, extra = ''): string {
  const path = join(folder, 'config.yaml');
  writeFileSync(path, `data: { folder: ${join(folder, 'data')} }\n${demoYaml(extra, port)}`);
  return path;
}

t.test('kill -9 right after the 200: nothing is lost', async (t) => {
  const random = new Random();
  const folder = tempFolder(t);
  const port = await freePort();
  const config = configIn(folder, port);
  let server = new ServerProcess(t, port, [config], {});
  await server.ready();
  for (let i = 1; i <= ROUNDS; i++) {
    const why = `seed ${random.seed}, round ${i}`;
    // A crowd of pushes is under way on another channel while this one is answered.
    const others = Array.from({ length: 8 }, (_, k) => push(server.base, 'demo', `song=d${i}.${k}`).catch(() => null));
    const next = await push(server.base, 'studio', `tracktype=next&song=next${i}&artist=n`);
    const now = await push(server.base, 'studio', `song=round${i}&artist=%C3%BC&duration=${i}`);
    server.child.kill('SIGKILL');
    const answered = (await Promise.all(others)).filter((answer) => answer !== null).map((answer) => answer['song']);
    await server.end('SIGKILL');
    if (random.chance(0.5)) await pause(random.int(0, 30));

    server = new ServerProcess(t, port, [config], {});
    await server.ready();
    const kept = await json(`${server.base}/metadata/channel/studio.json`);
    t.match(kept, { song: `round${i}`, artist: 'ü', duration: i, id: now['id'] }, why);
    t.match(
      await json(`${server.base}/metadata/channel/studio.json?type=next`),
      { song: `next${i}`, id: next['id'] },
      why,
    );
    if (answered.length > 0) {
      const demo = await json(`${server.base}/metadata/channel/demo.json`);
      const last = Math.max(...answered.map((song) => Number(String(song).split('.')[1])));
      t.match(demo['song'], new RegExp(`^d${i}\\.`), `${why}: the other channel, ${last} answered`);
    }
  }
  const frames: Record<string, unknown>[] = [];
  const ws = new WebSocket(`ws://127.0.0.1:${port}/metadata/channel/studio`);
  ws.on('message', (data) => frames.push(JSON.parse(String(data))));
  const player = new Player(port, '/studio.mp3');
  await until(() => frames.length === 2, 10_000);
  t.same(
    frames.map((frame) => [frame['type'], frame['song']]),
    [
      ['next', `next${ROUNDS}`],
      ['now', `round${ROUNDS}`],
    ],
  );
  await player.until((p) => p.titles.length > 0);
  t.match(
    player.titles[0],
    { title: `ü - round${ROUNDS}`, atByte: player.metaint },
    'the first ICY block carries it too',
  );
  ws.terminate();
  player.close();
  await server.end('SIGKILL');
});

t.test('SIGTERM drains: not ready, 1001, streams end with a whole frame, exit 0', async (t) => {
  const folder = tempFolder(t);
  const port = await freePort();
  const config = configIn(folder, port, `shutdown: { graceSeconds: ${GRACE_MS / 1000} }`);
  const server = new ServerProcess(t, port, [config], {});
  await server.ready();
  await push(server.base, 'demo', 'song=x');
  const listeners = [
    new Player(port, '/demo.mp3', { keep: true }),
    new Player(port, '/demo.mp3', { keep: true, icy: false }),
  ];
  for (const player of listeners) await player.until((p) => p.audioBytes > 16_000);
  let closedWith = 0;
  const ws = new WebSocket(`ws://127.0.0.1:${port}/metadata/channel/demo`);
  ws.on('close', (code) => (closedWith = code));
  await new Promise((done) => ws.once('message', done));
  // A watcher that never answers the close, a keep-alive connection and a half-sent head must not hold it up.
  const deaf = new WebSocket(`ws://127.0.0.1:${port}/metadata/channel/demo`);
  await new Promise((done) => deaf.once('message', done));
  deaf.pause();
  const half = new Player(port, '/demo', { method: 'GE' });
  half.socket.on('error', () => undefined);

  const delay = new MachineDelay(t, server.child.pid!);
  const startMs = performance.now();
  server.child.kill('SIGTERM');
  await pause(200);
  server.child.kill('SIGINT');
  await server.end('SIGTERM');
  const tookMs = performance.now() - startMs;
  t.equal(server.ended, 0, server.err);
  t.ok(tookMs < GRACE_MS / 2 + delay.totalMs, `half of graceSeconds at most: it took ${Math.round(tookMs)} ms`);
  t.equal(closedWith, 1001);
  for (const player of listeners) {
    await player.until((p) => p.closed);
    t.equal(leftover(player.audio), 0, 'the stream ended with a whole frame');
  }
  deaf.terminate();
});

t.test('a second server on the same data folder refuses to start, and starts once the first is dead', async (t) => {
  const folder = tempFolder(t);
  const port = await freePort();
  const config = configIn(folder, port);
  const first = new ServerProcess(t, port, [config], {});
  await first.ready();
  const second = new ServerProcess(t, await freePort(), ['--port', '0', config], {});
  await until(() => second.ended !== undefined, 30_000);
  t.equal(second.ended, 1);
  t.match(second.err, /in use by another airsplice server/);
  await first.end('SIGKILL');
  const third = new ServerProcess(t, port, [config], {});
  await third.ready();
  await third.end('SIGTERM');
  t.equal(third.ended, 0);
});

t.test('a port that is taken, a wrong configuration, a wrong argument: said, with an exit code', async (t) => {
  const folder = tempFolder(t);
  const port = await freePort();
  const config = configIn(folder, port);
  const first = new ServerProcess(t, port, [config], {});
  await first.ready();
  const other = tempFolder(t);
  const cases: [readonly string[], number, RegExp][] = [
    [[configIn(other, port)], 1, /EADDRINUSE.*:\d+: stop the program that uses the port .*'sport = :\d+'/],
    [['--port', '70000', config], 2, /--port must be/],
    [['--nonsense'], 2, /usage/],
    [[join(other, 'none.yaml')], 2, /none\.yaml/],
  ];
  const bad = join(other, 'bad.yaml');
  writeFileSync(bad, 'addresses:\n  - host: 127.0.0.1\n    prot: 8000\nstations: 7\n');
  cases.push([[bad], 2, /bad\.yaml:3:5: .*prot[\s\S]*bad\.yaml:4:11: stations/]);
  const servers = await Promise.all(cases.map(([args]) => new ServerProcess(t, port, args, {})));
  for (const [i, [args, code, words]] of cases.entries()) {
    await until(
      () => servers[i]!.ended !== undefined,
      30_000,
      () => args.join(' '),
    );
    t.equal(servers[i]!.ended, code, servers[i]!.err);
    t.match(servers[i]!.err, words);
  }
  await first.end('SIGKILL');
});

t.test('the demo says what to paste, and no secret goes to the log', async (t: Test) => {
  const folder = tempFolder(t);
  const port = await freePort();
  const server = new ServerProcess(t, port, [], { DATA: join(folder, 'data') });
  await server.ready();
  await until(() => server.out.includes('feed'), 5000);
  t.match(server.out, `http://127.0.0.1:${port}/studio.mp3`);
  t.match(server.out, `http://127.0.0.1:${port}/metapush/studio/studio-token?`);
  t.match(server.out, `watch studio --url http://127.0.0.1:${port}`);
  t.match(server.out, `icecast://source:demo-source@127.0.0.1:${port}/studio.mp3`);
  await fetch(`${server.base}/metapush/studio/guessed-token?song=x`);
  await push(server.base, 'studio', 'song=x');
  const relay = new Player(port, '/relay.mp3');
  await relay.until((p) => p.audioBytes > 0);
  relay.close();
  await server.end('SIGTERM');
  t.equal(server.ended, 0);
  for (const secret of ['studio-token', 'demo-token', 'guessed-token', 'demo-source']) {
    t.notOk(server.err.includes(secret), `the log does not hold ${secret}`);
  }
});
