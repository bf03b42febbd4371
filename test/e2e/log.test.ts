/** The radio plays on whatever becomes of its log: a disk that is full, a reader that stops reading or goes. */

import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { bestOfThree } from '../kit/best-of-three.js';
import { MachineDelay } from '../kit/machine-delay.js';
import { pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { missing, Program } from '../kit/program.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { Wire } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = 6;

const SKIP = process.platform !== 'linux' && 'no /dev/full';
/** Of a song: a line of the log each. */
const LONG = 'x'.repeat(1000);
/** What a pipe and its reader hold stays far below what the lines come to. */
const LINES = 1000;
const LISTENERS = 40;

async function start(t: Test, options: string, launcher: readonly string[] = []): Promise<ServerProcess> {
  const folder = tempFolder(t);
  const port = await freePort();
  const config = join(folder, 'config.yaml');
  const extra = `
data: { folder: ${join(folder, 'data')} }
streams: { burstSeconds: 1 }
limits: { pushesPerMinute: 1000000, pushBurst: 1000000 }
${options}`;
  writeFileSync(config, demoYaml(extra, port));
  const server = new ServerProcess(t, port, [config], {}, launcher);
  await server.ready();
  return server;
}

async function push(server: ServerProcess, song: string): Promise<void> {
  const response = await fetch(`${server.base}/metapush/demo/demo-token?song=${song}`);
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  await response.arrayBuffer();
}

async function plays(t: Test, server: ServerProcess, title: string): Promise<void> {
  const player = new Player(server.port, '/demo.mp3');
  t.teardown(() => player.close());
  await player.until((p) => p.audioBytes > 32_000 && p.titles.some((shown) => shown.title === title));
  player.close();
}

/** Their lines of the access log are more than a pipe holds. */
async function listenUntilFull(t: Test, server: ServerProcess): Promise<void> {
  const headers = `Referer: ${'x'.repeat(4000)}\r\n`;
  for (let i = 0; i < LISTENERS; i++) {
    const player = new Player(server.port, `/demo.mp3?metaid=ear-${i}`, { headers });
    t.teardown(() => player.close());
    await player.until((p) => p.audioBytes > 0);
  }
}

t.test('full disks under both of its outputs', { skip: SKIP }, async (t) => {
  const full = ['sh', '-c', 'exec "$@" >/dev/full 2>/dev/full', 'sh'];
  const server = await start(t, 'accessLog: { file: "-" }', full);
  await push(server, 'one');
  await plays(t, server, 'one');
  await push(server, 'two');
  await plays(t, server, 'two');
  await server.end('SIGTERM');
  t.equal(server.ended, 0);
});

t.test('a reader of the log that stops, and goes on', async (t) => {
  const server = await start(t, 'log: { bufferBytes: 100000 }');
  const { stderr } = server.child;
  stderr!.pause();
  const songs = Array.from({ length: LINES }, (_, i) => `${i}-${LONG}`);
  const one = async () => {
    for (let song = songs.shift(); song !== undefined; song = songs.shift()) await push(server, song);
  };
  await Promise.all(Array.from({ length: 16 }, one));
  await push(server, 'unread');
  await plays(t, server, 'unread');

  stderr!.resume();
  await until(() => /"lines":\d+,"msg":"lines of this log were lost/.test(server.err), 20_000);
  await push(server, 'read');
  await until(() => server.err.includes('"title":"read"'), 20_000);
  const lines = server.err.trimEnd().split('\n');
  const titles = lines.filter((line) => line.includes('"msg":"title"')).map((line) => JSON.parse(line).title as string);
  const lost = lines.map((line) => (line.includes('lines of this log were lost') ? JSON.parse(line).lines : 0));
  const lostCount = lost.reduce((sum, count) => sum + count, 0);
  t.ok(lostCount > 500, `${lostCount} were lost`);
  // A busy disk is logged once a second, and such a line may be lost too.
  const count = titles.length + lostCount;
  t.ok(count >= LINES + 2 && count < LINES + 60, `${count}: what is not there is counted, and the others are whole`);
  await server.end('SIGTERM');
  t.equal(server.ended, 0);
});

t.test('a reader that has stopped does not keep the server from its end', async (t) => {
  const tookMs = await bestOfThree(3000, async () => {
    const server = await start(t, 'log: { bufferBytes: 100000 }\nshutdown: { graceSeconds: 2 }');
    server.child.stderr!.pause();
    for (let i = 0; i < LINES / 2; i++) await push(server, `${i}-${LONG}`);
    const delay = new MachineDelay(t, server.child.pid!);
    const startMs = performance.now();
    await server.end('SIGTERM');
    const ms = performance.now() - startMs;
    t.ok(ms > 1900, `graceSeconds are 2: it took ${Math.round(ms)} ms`);
    t.equal(server.ended, 0);
    return ms - delay.totalMs;
  });
  t.ok(tookMs < 3000, `graceSeconds are 2: it took ${Math.round(tookMs)} ms`);
});

t.test('nor does one for whom the system keeps a write waiting', { skip: SKIP || missing('mkfifo') }, async (t) => {
  const fifo = join(tempFolder(t), 'access.log');
  await promisify(execFile)('mkfifo', [fifo]);
  // It takes nothing: 64 KB of lines fit into the pipe.
  new Program(t, 'sh', ['-c', 'exec 3<"$1"; exec sleep 60', 'sh', fifo]);
  const server = await start(t, `accessLog: { file: ${fifo}, textCharacters: 8192 }\nshutdown: { graceSeconds: 2 }`);
  await listenUntilFull(t, server);
  await server.end('SIGTERM');
  t.equal(server.ended, 'SIGTERM', "Node's own exit would wait for it");
});

t.test('a clean stop waits for an access log on a slow disk', { skip: SKIP || missing('mkfifo') }, async (t) => {
  const folder = tempFolder(t);
  const [fifo, go, taken] = ['access.log', 'go', 'taken'].map((name) => join(folder, name));
  await promisify(execFile)('mkfifo', [fifo!]);
  const reader = 'exec 3<"$1"; until [ -e "$2" ]; do sleep 0.1; done; exec cat <&3 >"$3"';
  new Program(t, 'sh', ['-c', reader, 'sh', fifo!, go!, taken!]);
  const server = await start(t, `accessLog: { file: ${fifo}, textCharacters: 8192 }\nshutdown: { graceSeconds: 15 }`);
  await listenUntilFull(t, server);
  server.child.kill('SIGTERM');
  await until(() => server.err.includes('"msg":"stopping"'), 5000);
  await pause(2000);
  writeFileSync(go!, '');
  await until(() => server.ended !== undefined, 20_000);
  t.equal(server.ended, 0, server.err);
  const lines = () => (existsSync(taken!) ? readFileSync(taken!, 'utf8').trimEnd().split('\n').length : 0);
  await until(
    () => lines() === LISTENERS,
    5000,
    () => `${lines()} lines`,
  );
});

t.test('a server that is given the least time to stop ends well all the same', async (t) => {
  const server = await start(t, 'shutdown: { graceSeconds: 1 }');
  const player = new Player(server.port, '/demo.mp3');
  t.teardown(() => player.close());
  await player.until((p) => p.audioBytes > 0);
  await server.end('SIGTERM');
  t.equal(server.ended, 0, 'not by the signal: its log is taken');
});

t.test('a reader that has gone', async (t) => {
  const server = await start(t, '');
  server.child.stderr!.destroy();
  for (let i = 0; i < 20; i++) await push(server, `${i}-${LONG}`);
  await push(server, 'gone');
  await plays(t, server, 'gone');
  await server.end('SIGTERM');
  t.equal(server.ended, 0);
});

t.test('LOG_LEVEL and --log-level before the configuration; the id of a connection in all its lines', async (t) => {
  const folder = tempFolder(t);
  const config = join(folder, 'config.yaml');
  const [port, quietPort] = [await freePort(), await freePort()];
  const log = (level: string) => `data: { folder: ${join(folder, level)} }\nlog: { level: ${level} }\n`;
  writeFileSync(config, demoYaml(log('warn'), port));
  const server = new ServerProcess(t, port, [config], { LOG_LEVEL: 'debug' });
  await server.ready();
  const player = new Player(port, '/demo.mp3', { agent: 'known' });
  await player.until((p) => p.audioBytes > 0);
  player.close();
  const refused = new Player(port, '/studio.mp3', { method: 'SOURCE', headers: 'Authorization: Basic eDp5\r\n' });
  t.teardown(() => refused.close());
  const lines = () => server.err.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
  const find = (msg: string) => lines().find((line) => line.msg === msg);
  await until(() => find('listener ended') !== undefined && find('encoder refused') !== undefined, 10_000);
  const joined = find('listener joined');
  t.match(joined, { channel: 'demo', mount: '/demo.mp3', address: '127.0.0.1', icy: true, connection: /^\d+$/ });
  t.equal(find('listener ended').connection, joined.connection);
  t.match(find('encoder refused').connection, /^\d+$/);
  t.not(find('encoder refused').connection, joined.connection);
  t.match(find('sources, best first').sources, ['file up']);

  // All of one connection.
  const wire = new Wire(t, port);
  const said: Record<string, string> = {
    title: '/metapush/demo/demo-token?song=of+this+connection',
    'a push waits for its time': `/metapush/demo/demo-token?song=later&time=${Math.floor(Date.now() / 1000) + 300}`,
    'push refused': '/metapush/demo/guess?song=x',
    'nothing there': '/none.mp3?token=guess',
  };
  let answers = 0;
  for (const path of Object.values(said)) {
    wire.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await wire.take(++answers);
  }
  const ids = () => Object.keys(said).map((msg) => find(msg)?.connection);
  await until(
    () => !ids().includes(undefined),
    10_000,
    () => `${ids()}`,
  );
  t.equal(new Set(ids()).size, 1, `one id: ${ids()}`);
  t.match(find('nothing there'), {
    level: 20,
    address: '127.0.0.1',
    status: 404,
    reason: /Nothing is served at this address/,
  });
  t.notOk(server.err.includes('none.mp3'), 'what a stranger asks for may be a token');

  writeFileSync(config, demoYaml(log('info'), quietPort));
  const quiet = new ServerProcess(t, quietPort, ['--log-level', 'silent', config], { LOG_LEVEL: 'debug' });
  await quiet.ready();
  t.equal(quiet.err, '');
  const wrong = new ServerProcess(t, quietPort, [config], { LOG_LEVEL: 'loud' });
  await until(() => wrong.ended !== undefined, 10_000);
  t.equal(wrong.ended, 2);
  t.match(wrong.err, 'LOG_LEVEL must be one of: fatal');
});
