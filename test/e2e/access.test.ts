/** The access log and listener statistics over the whole server: what players leave behind, rotation by a signal, Safari's two connections. */

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Player } from '../kit/player.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { demoYaml, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

// They wait more than they compute.
t.jobs = 6;

/** Address, time, request, bytes, referer, agent, seconds. */
const LINE =
  /^(\S+) - - \[(\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d) \+0000\] "((?:[^"\\]|\\.)*)" 200 (\d+) "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)" (\d+)$/;

function lines(file: string): string[] {
  try {
    return readFileSync(file, 'latin1').split('\n').slice(0, -1);
  } catch {
    return [];
  }
}

t.test('one line for each listener at its end, with nothing in it that is secret or could forge another', async (t) => {
  const folder = tempFolder(t);
  const file = join(folder, 'access.log');
  const { port } = await startServer(t, demoYaml(`accessLog: { file: '${file}', textCharacters: 60 }`));
  const play = async (path: string, headers: string, bytes = 1) => {
    const player = new Player(port, path, { headers });
    await player.until((p) => p.audioBytes >= bytes);
    return player;
  };
  const agent = 'Evil" 200 0 "-" "x\\';
  const first = await play(
    '/demo.mp3?metaid=topsecret&app=ios',
    `Referer: https://page.example/?token=alsosecret\r\nUser-Agent: ${agent}\r\n`,
    1,
  );
  const second = await play(`/demo?${'x'.repeat(100)}`, `User-Agent: ${'é'.repeat(100)}\r\n`);
  t.same(lines(file), [], 'nothing while they play');
  const playedBytes = first.audioBytes;
  first.close();
  await until(() => lines(file).length === 1, 5000);
  second.close();
  await until(() => lines(file).length === 2, 5000);
  const [one, two] = lines(file).map((line) => LINE.exec(line)?.slice(1) ?? t.fail(line));
  t.match(one, [
    '127.0.0.1',
    /./,
    'GET /demo.mp3?metaid=-&app=ios HTTP/1.0',
    /^\d+$/,
    'https://page.example/?token=-',
    'Evil\\" 200 0 \\"-\\" \\"x\\\\',
    /^\d+$/,
  ]);
  t.ok(Number((one as string[])[3]) >= playedBytes, 'bytes');
  t.ok(Number((one as string[])[6]) <= 15, 'seconds');
  const [, , request, , referer, said] = two as string[];
  t.equal(request, `GET /demo?${'x'.repeat(54)} HTTP/1.0`, 'cut');
  t.equal(referer, '-');
  t.equal(said, '\\xc3\\xa9'.repeat(60), 'cut, and escaped');
  t.notMatch(readFileSync(file, 'latin1'), /secret/);
});

t.test(
  'shortened addresses; a mount is refused without a line; those who still play have one at the end',
  async (t) => {
    const file = join(tempFolder(t), 'access.log');
    const { port, app, base } = await startServer(t, demoYaml(`accessLog: { file: '${file}', anonymize: true }`));
    await (await fetch(`${base}/none`)).arrayBuffer();
    await (await fetch(`${base}/demo.m3u`)).arrayBuffer();
    const players = [1, 2, 3].map(() => new Player(port, '/demo.mp3'));
    for (const player of players) await player.until((p) => p.audioBytes > 0);
    await app.stop();
    t.equal(lines(file).length, 3);
    for (const line of lines(file)) t.match(line, /^127\.0\.0\.0 - - .* "-" "test" \d+$/);
  },
);

t.test(
  'SIGHUP begins a new file, and no listener is disturbed',
  { skip: process.platform === 'win32' && 'no signals' },
  async (t) => {
    const folder = tempFolder(t);
    const file = join(folder, 'access.log');
    const config = join(folder, 'config.yaml');
    const port = await freePort();
    writeFileSync(config, demoYaml(`data: { folder: '${folder}/data' }\naccessLog: { file: '${file}' }`, port));
    const server = new ServerProcess(t, port, [config], {});
    await server.ready();
    const stays = new Player(port, '/demo.mp3');
    await stays.until((p) => p.audioBytes > 0);
    const goes = new Player(port, '/demo?one');
    await goes.until((p) => p.audioBytes > 0);
    goes.close();
    await until(() => lines(file).length === 1, 5000);
    renameSync(file, `${file}.1`);
    server.child.kill('SIGHUP');
    const after = new Player(port, '/demo?two');
    await after.until((p) => p.audioBytes > 0);
    after.close();
    await until(() => lines(file).length === 1, 5000);
    t.match(lines(file)[0], '/demo?two ');
    t.match(lines(`${file}.1`), [/one /]);
    t.equal(stays.closed, false);
    await server.end('SIGTERM');
    t.match(lines(file)[1], '/demo.mp3 ');
    t.equal(server.ended, 0);
  },
);

t.test('to standard output', async (t) => {
  const folder = tempFolder(t);
  const config = join(folder, 'config.yaml');
  const port = await freePort();
  writeFileSync(config, demoYaml(`data: { folder: '${folder}/data' }\naccessLog: { file: '-' }`, port));
  const server = new ServerProcess(t, port, [config], {});
  await server.ready();
  const player = new Player(port, '/demo.mp3');
  await player.until((p) => p.audioBytes > 0);
  player.close();
  await until(
    () => LINE.test(server.out.split('\n').at(-2) ?? ''),
    5000,
    () => server.out,
  );
  server.child.kill('SIGHUP');
  t.ok((await fetch(`${server.base}/healthz`)).ok, 'SIGHUP does no harm');
});

t.test(
  "Safari's probe and its real connection are one listener, and the probe gets all that it asks for",
  async (t) => {
    const { port, base } = await startServer(t, demoYaml('sessions: { togetherSeconds: 0 }'));
    const figures = async () => {
      const text = await (await fetch(`${base}/metrics`)).text();
      return ['airsplice_listeners', 'airsplice_unique_listeners'].map((name) =>
        Number(new RegExp(`^${name}\\{channel="demo"\\} (\\d+)$`, 'm').exec(text)?.[1]),
      );
    };
    // As Safari 17 sends them.
    const safari = (range: string, id: string) =>
      `Accept: */*\r\nRange: bytes=${range}\r\nAccept-Encoding: identity\r\nX-Playback-Session-Id: ${id}\r\nConnection: keep-alive\r\n`;
    const probe = new Player(port, '/demo.mp3', { icy: false, headers: safari('0-1', 'A1B2-C3') });
    await probe.until((p) => p.audioBytes === 2);
    t.equal(probe.statusLine, 'HTTP/1.0 200 OK');
    t.equal(probe.headers.get('accept-ranges'), 'none');
    for (const name of ['content-range', 'content-length', 'icy-metaint']) t.notOk(probe.headers.has(name), name);
    const real = new Player(port, '/demo.mp3', { headers: safari('0-', 'A1B2-C3') });
    await real.until((p) => p.audioBytes > 0);
    t.same(await figures(), [1, 1], 'the probe is none');
    t.equal((await fetch(`${base}/metadata/listener/A1B2-C3.json`)).status, 404, 'it is no metaid');
    const other = new Player(port, '/demo.mp3', { headers: safari('0-', 'D4') });
    await other.until((p) => p.audioBytes > 0);
    t.same(await figures(), [2, 2]);
    probe.close();
    for (const player of [real, other]) player.close();
    await until(async () => String(await figures()) === '0,0', 5000);
  },
);

t.test('what pages of other origins get: preflight and exposed headers, on either way in', async (t) => {
  const { port, base } = await startServer(t, demoYaml());
  // `fetch` comes by HTTP where its connection was used before, a Player by the listeners' acceptor.
  await (await fetch(`${base}/healthz`)).arrayBuffer();
  const preflight = await fetch(`${base}/demo.mp3`, {
    method: 'OPTIONS',
    headers: { Origin: 'https://page.example', 'Access-Control-Request-Headers': 'icy-metadata,range' },
  });
  t.equal(preflight.status, 204);
  t.equal(preflight.headers.get('access-control-allow-origin'), '*');
  t.equal(preflight.headers.get('access-control-allow-headers'), 'icy-metadata, range');
  t.equal(preflight.headers.get('access-control-allow-methods'), 'GET, HEAD, OPTIONS');
  const player = new Player(port, '/demo.mp3', { headers: 'Origin: https://page.example\r\n' });
  await player.until((p) => p.audioBytes > 0);
  const head = await fetch(`${base}/demo.mp3`, { method: 'HEAD', headers: { 'Icy-MetaData': '1' } });
  for (const name of [
    'access-control-expose-headers',
    'cache-control',
    'pragma',
    'expires',
    'icy-metaint',
    'icy-name',
    'content-type',
  ]) {
    t.equal(head.headers.get(name), player.headers.get(name), `HEAD as GET: ${name}`);
    t.ok(player.headers.get(name), name);
  }
  t.equal(player.headers.get('cache-control'), 'no-store');
  player.close();
});
