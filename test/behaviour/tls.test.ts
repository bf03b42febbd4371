/** Addresses with a certificate: everything that is served in the clear is served over TLS, and a renewed certificate needs no restart. */

import { copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import tls from 'node:tls';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { banner } from '../../src/app/addresses/banner.js';
import { loadConfig } from '../../src/config/load.js';
import { PEM } from '../kit/certificate.js';
import { leftover } from '../kit/frame-recorder.js';
import { pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { atOnce, DEMO_AUDIO, knownEverywhere, NODES, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { awaited, until, untilPromised } from '../kit/until.js';
import { ask, connectionsAt, ENDS_MS, Watching, Wire } from '../kit/wire.js';

t.jobs = atOnce(4);

const [ONE, TWO] = ['one', 'two'].map((name) => readFileSync(`${PEM}${name}.cert.pem`)) as [Buffer, Buffer];
const TLS = `{ certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem }`;
const STATIONS = `
stations:
  house:
    channels:
      demo: { pushTokens: [demo-token], mounts: [/demo.mp3], bitrateKbps: 128, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      studio: { bitrateKbps: 128, sources: [{ type: encoder, password: demo-source }] }
`;
const yaml = (address = `{ host: 127.0.0.1, port: 0, tls: ${TLS} }`, extra = '') =>
  `addresses: [${address}]\n${extra}\n${STATIONS}`;

interface Got {
  readonly status: number;
  readonly body: string;
}

/** By Node's own client, which checks the certificate. */
function get(port: number, path: string, options: https.RequestOptions = {}): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = https.request({ host: '127.0.0.1', port, path, ca: ONE, ...options }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      response.on('end', () => resolve({ status: response.statusCode!, body }));
    });
    request.on('error', reject).end();
  });
}

/** A bare TLS connection and what came on it. */
function secure(t: Test, port: number, ca = ONE) {
  const socket = tls.connect({ host: '127.0.0.1', port, ca });
  const seen = { socket, got: '', closed: false, failed: '' };
  socket.on('data', (chunk: Buffer) => {
    seen.got += chunk.toString('latin1');
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    seen.failed = error.code ?? error.message;
  });
  socket.on('close', () => {
    seen.closed = true;
  });
  t.teardown(() => socket.destroy());
  return seen;
}

/** The name on the certificate that a new connection gets. */
async function shown(t: Test, port: number): Promise<string> {
  const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  t.teardown(() => socket.destroy());
  await new Promise((resolve, reject) => socket.on('secureConnect', resolve).on('error', reject));
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

t.test('https: push, poll, page; one connection for several requests', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml());
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const pushed = await get(port, '/metapush/demo/demo-token?song=S%C3%B6ng&artist=A&duration=5', { agent });
  t.equal(pushed.status, 200, pushed.body);
  t.equal((await get(port, '/metapush/demo/wrong?song=x', { agent })).status, 403);
  const polled = await get(port, '/metadata/channel/demo.json', { agent });
  t.equal(JSON.parse(polled.body).song, 'Söng');
  t.equal((await get(port, '/', { agent })).status, 200);
  t.equal((await get(port, '/metrics', { agent })).status, 200, 'ops for this machine');
  t.equal((await get(port, '/metrics', { agent, headers: { 'X-Forwarded-For': '192.0.2.1' } })).status, 404);
  t.equal(connectionsAt(port).length, 1);
  await t.rejects(get(port, '/', { ca: TWO }), /self-signed|unable to verify/, 'the client did look at it');
});

t.test('wss by the ws client', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml());
  const songs: string[] = [];
  const ws = new WebSocket(`wss://127.0.0.1:${port}/metadata/channel/demo`, { ca: ONE });
  ws.on('message', (data) => songs.push(JSON.parse(data.toString()).song));
  await new Promise((resolve, reject) => ws.on('open', resolve).on('error', reject));
  for (const song of ['a', 'b']) await get(port, `/metapush/demo/demo-token?song=${song}`);
  await until(() => songs.length === 2, 5000);
  t.same(songs, ['a', 'b']);
  let code = 0;
  ws.on('close', (closed) => (code = closed));
  ws.close(1000);
  await until(() => code === 1000, 5000);
});

t.test('an ICY stream with its title, and without', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml());
  await get(port, '/metapush/demo/demo-token?song=Song&artist=Artist');
  const players = [true, false].map((icy) => new Player(port, '/demo.mp3', { ca: ONE, icy, keep: true }));
  for (const player of players) {
    t.teardown(() => player.close());
    await player.until((p) => p.audioBytes > 40_000);
    t.equal(player.status, 200);
  }
  await players[0]!.until((p) => p.titles.length > 0);
  t.equal(players[0]!.titles[0]?.title, 'Artist - Song');
  const [icy, plain] = players.map((player) => player.audio) as [Buffer, Buffer];
  const at = icy.indexOf(plain.subarray(1000, 1200));
  t.ok(at >= 0 && icy.subarray(at, at + 20_000).equals(plain.subarray(1000, 21_000)), 'both got the same audio');

  const half = secure(t, port);
  half.socket.write('GET /demo.mp3 HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => half.got.length > 1000, 5000);
  const before = connectionsAt(port).length;
  half.socket.end();
  await until(
    () => connectionsAt(port).length === before - 1,
    5000,
    () => 'a player that has gone is let go',
  );
});

t.test('an encoder, its head in pieces, with and without Expect', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml());
  const login = `Authorization: Basic ${Buffer.from('source:demo-source').toString('base64')}`;
  const audio = readFileSync(DEMO_AUDIO).subarray(0, 120_000);
  const wrong = secure(t, port);
  wrong.socket.write(`PUT /studio HTTP/1.1\r\n${login.slice(0, -4)}\r\n\r\n`);
  await until(
    () => wrong.got.startsWith('HTTP/1.0 401'),
    5000,
    () => wrong.got,
  );

  const expecting = secure(t, port);
  for (const piece of ['P', 'UT /stu', `dio HTTP/1.1\r\n${login}\r\nExpect: 100-continue\r\n`, '\r\n']) {
    expecting.socket.write(piece);
    await pause(20);
  }
  await until(
    () => expecting.got.startsWith('HTTP/1.1 100'),
    5000,
    () => expecting.got,
  );
  await knownEverywhere();
  const listener = new Player(port, '/studio', { ca: ONE });
  t.teardown(() => listener.close());
  expecting.socket.write(audio);
  await listener.until((p) => p.audioBytes > 30_000);
  expecting.socket.end();
  await untilPromised(() => expecting.closed, ENDS_MS);

  const source = secure(t, port);
  source.socket.write(`SOURCE /studio HTTP/1.0\n${login}\nContent-Type: audio/mpeg\n\n`);
  await until(
    () => source.got.startsWith('HTTP/1.0 200'),
    5000,
    () => source.got,
  );
  const had = listener.audioBytes;
  source.socket.write(audio);
  await listener.until((p) => p.audioBytes > had + 16_000);
  t.notOk(listener.closed, 'the same listener hears both');
});

t.test('who does not speak TLS, or never finishes to, is closed', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml(undefined, 'limits: { headSeconds: 2 }'));
  const plain = new Wire(t, port).send('GET /metadata/channel/demo.json HTTP/1.1\r\nHost: x\r\n\r\n');
  const silent = new Wire(t, port);
  const begun = new Wire(t, port).send(Buffer.from('1603010200', 'hex'));
  const mute = secure(t, port);
  for (const wire of [plain, silent, begun]) await wire.untilClosed();
  await untilPromised(
    () => mute.closed,
    ENDS_MS,
    () => 'a finished handshake and no request',
  );
  t.notMatch(plain.got, 'HTTP');
  await untilPromised(
    () => connectionsAt(port).length === 0,
    ENDS_MS,
    () => 'closed for the client alone',
  );
  t.equal((await get(port, '/healthz')).status, 200);

  const clear = await startServer(t, yaml('{ host: 127.0.0.1, port: 0 }'));
  const strayed = secure(t, clear.port);
  await untilPromised(() => strayed.closed, ENDS_MS);
  t.not(strayed.failed, '');
});

t.test('a stop does not wait for handshakes, and closes those that are in', { buffered: true }, async (t) => {
  // Whatever else would end them is far off.
  const limits = 'limits: { headSeconds: 300 }\nshutdown: { graceSeconds: 600 }';
  const { port, app } = await startServer(t, yaml(undefined, limits));
  const begun = new Wire(t, port).send(Buffer.from('1603010200', 'hex'));
  const player = new Player(port, '/demo', { ca: ONE, icy: false, keep: true });
  await player.until((p) => p.audioBytes > 16_000);
  await until(() => connectionsAt(port).length === 2, 5000);
  await awaited(app.stop(), 10_000, () => 'it waits for a handshake');
  await player.until((p) => p.closed);
  t.equal(leftover(player.audio), 0, 'the stream ended with a whole frame');
  await begun.untilClosed();
});

t.test(
  'a renewed certificate is used at once, a broken one never, and a listener plays on',
  { buffered: true },
  async (t) => {
    const folder = tempFolder(t);
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const install = (certName: string, keyName = certName) => {
      copyFileSync(`${PEM}${certName}.cert.pem`, cert);
      copyFileSync(`${PEM}${keyName}.key.pem`, key);
    };
    install('one');
    const lines: { level: string; fields: Record<string, unknown>; text: string }[] = [];
    const at = (level: string) => (fields: Record<string, unknown>, text: string) => {
      lines.push({ level, fields, text });
    };
    const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } as never;
    const logged = (word: string) => lines.filter((line) => line.text.includes(word));
    // Each worker looks for itself.
    const allLogged = (word: string, times: number) =>
      until(() => logged(word).length === times * server.serving, 10_000);
    // Relative paths are relative to the configuration file.
    const [before, dot] = NODES > 0 ? [`${folder}/`, ''] : ['', './'];
    const address = `{ host: 127.0.0.1, port: 0, tls: { certFile: ${before}cert.pem, keyFile: ${before}${dot}key.pem } }`;
    const server = await startServer(t, yaml(address), folder, log);
    const { port } = server;
    const player = new Player(port, '/demo', { ca: ONE });
    await player.until((p) => p.audioBytes > 16_000);
    t.equal(await shown(t, port), 'airsplice test one');

    install('two');
    await allLogged('certificate renewed', 1);
    t.equal(await shown(t, port), 'airsplice test two');
    t.equal((await get(port, '/healthz', { ca: TWO })).status, 200);

    writeFileSync(cert, 'half a certifi');
    await allLogged('cannot be used', 1);
    t.match(logged('cannot be used').at(-1), { level: 'error', fields: { certFile: cert } });
    t.equal(await shown(t, port), 'airsplice test two');

    install('one', 'two');
    await allLogged('cannot be used', 2);
    t.match(logged('cannot be used').at(-1), { fields: { reason: /mismatch/ } });
    t.equal(await shown(t, port), 'airsplice test two');

    rmSync(cert);
    await allLogged('cannot be used', 3);
    t.equal(await shown(t, port), 'airsplice test two');

    // As renewal tools do it: a new file under the old name.
    copyFileSync(`${PEM}one.key.pem`, `${key}.new`);
    renameSync(`${key}.new`, key);
    copyFileSync(`${PEM}one.cert.pem`, `${cert}.new`);
    renameSync(`${cert}.new`, cert);
    await allLogged('certificate renewed', 2);
    t.equal(await shown(t, port), 'airsplice test one');

    t.notOk(player.closed, 'the listener of the first hour');
    const had = player.audioBytes;
    await player.until((p) => p.audioBytes > had + 16_000);
    player.close();
    t.notMatch(JSON.stringify(lines), /PRIVATE KEY/);
  },
);

t.test('what is printed to paste speaks TLS where the address does', { buffered: true }, async (t) => {
  const path = join(tempFolder(t), 'config.yaml');
  writeFileSync(path, yaml());
  const printed = banner(loadConfig(path, {}), [8443], 'airsplice');
  t.match(printed, 'https://127.0.0.1:8443/');
  t.match(printed, 'watch studio --url https://127.0.0.1:8443');
  t.match(printed, '-tls 1 icecast://');
  t.notMatch(printed, /http:|ws:/);
});

t.test('what is wrong with a certificate is said before the start', { buffered: true }, async (t) => {
  const folder = tempFolder(t);
  const path = join(folder, 'config.yaml');
  writeFileSync(join(folder, 'text.pem'), 'this is a shopping list');
  const problems = (files: string): string => {
    writeFileSync(path, yaml(`{ host: 127.0.0.1, port: 0, tls: ${files} }`));
    try {
      loadConfig(path, {});
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const [cert, key] = [`${PEM}one.cert.pem`, `${PEM}one.key.pem`];
  t.equal(problems(`{ certFile: ${cert}, keyFile: ${key} }`), '');
  t.match(
    problems(`{ certFile: none.pem, keyFile: ${folder} }`),
    /tls\.certFile: must be a file.*\n.*tls\.keyFile: must be a file/,
  );
  t.match(problems(`{ certFile: ${cert} }`), /tls\.keyFile: is missing/);
  t.match(
    problems(`{ certFile: text.pem, keyFile: ${key} }`),
    /config\.yaml:1:\d+: addresses\[0\]\.tls: must be a PEM .*: .*no start line/,
  );
  t.match(problems(`{ certFile: ${cert}, keyFile: ${cert} }`), /\.tls: must be a PEM /);
  t.match(problems(`{ certFile: ${cert}, keyFile: ${PEM}two.key.pem }`), /\.tls: must be a PEM .*mismatch/);
  t.match(problems(`{ certFile: ${cert}, keyFile: ${key}, passphrase: x }`), /tls\.passphrase: is not an option/);
});

t.test('the four hosts as four addresses with their roles, two of them over TLS', { buffered: true }, async (t) => {
  const addresses = `
  - { host: 127.0.0.1, port: 0, roles: [push], tls: ${TLS} }
  - { host: 127.0.0.1, port: 0, roles: [poll], tls: ${TLS} }
  - { host: 127.0.0.1, port: 0, roles: [watch] }
  - { host: 127.0.0.1, port: 0, roles: [legacy] }
legacy: { deprecatedOn: 2025-01-01, sunsetOn: 2030-01-01, successor: https://api.wave.example/ }`;
  const { app } = await startServer(t, `addresses:${addresses}\n${STATIONS}`);
  const [push, poll, watch, legacy] = app.ports as [number, number, number, number];
  const [PUSH, POLL] = ['/metapush/demo/demo-token?song=x', '/metadata/channel/demo.json'];
  const clear = async (port: number, path: string) => (await ask(t, port, `GET ${path} HTTP/1.1`)).status;

  t.equal((await get(push, PUSH)).status, 200);
  t.equal((await get(push, '/metapush/demo?song=x', { headers: { Authorization: 'Bearer demo-token' } })).status, 200);
  t.equal((await get(poll, POLL)).status, 200);
  t.equal(await clear(legacy, POLL), 200);
  t.equal(await clear(legacy, PUSH), 200);
  const watching = await new Watching(t, `ws://127.0.0.1:${watch}/metadata/channel/demo`).has(1);
  t.same(watching.songs, ['now x']);

  t.equal((await get(push, POLL)).status, 404);
  t.equal((await get(push, '/demo.mp3')).status, 404);
  t.equal((await get(poll, PUSH)).status, 404);
  t.equal((await get(poll, '/metapush/demo', { headers: { Authorization: 'Bearer demo-token' } })).status, 404);
  t.equal(await clear(watch, PUSH), 404);
  for (const port of [push, poll]) t.equal((await get(port, '/metrics')).status, 404, 'ops is private');
  for (const port of [watch, legacy]) t.equal(await clear(port, '/metrics'), 404, 'ops is private');
  const refused = secure(t, poll);
  refused.socket.write(
    'GET /metadata/channel/demo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  await until(
    () => refused.got.startsWith('HTTP/1.1 404'),
    5000,
    () => refused.got,
  );
});
