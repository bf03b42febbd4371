/**
 * Hub and workers as the operator starts them: what one process serves, all of them do, and the end of a process is noticed by those alone whom it
 * served. Real processes, real sockets.
 */

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import tls from 'node:tls';
import t from 'tap';
import { PEM } from '../kit/certificate.js';
import { DEMO_FRAMES, Feeder } from '../kit/feeder.js';
import { leftover } from '../kit/frame-recorder.js';
import { Machine, onePerWorker, RESTARTED_MS, strayBytes, WORKERS } from '../kit/machine.js';
import { Player } from '../kit/player.js';
import { freePorts, ServerProcess } from '../kit/process.js';
import { Random } from '../kit/random.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { audioOf, patientRelayYaml, streamHead, Upstream } from '../kit/upstream.js';
import { Watching } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = 3;

t.test('whatever worker a client lands on: streams, pushes, polls, watchers, statistics, metrics', async (t) => {
  const machine = await Machine.start(t);
  const { port, server } = machine;
  const players = await onePerWorker(t, machine);
  const watching = await Promise.all(
    Array.from(
      { length: 6 },
      async () => await new Watching(t, `ws://127.0.0.1:${port}/metadata/channel/demo`).opened(),
    ),
  );
  for (let i = 0; i < 10; i++) {
    t.equal(await machine.push(`s${i}`), 200);
    // Each request is a connection of its own, so it may land anywhere.
    const polled = await Promise.all(
      Array.from({ length: 4 }, () =>
        fetch(`${server.base}/metadata/channel/demo.json`, { headers: { connection: 'close' } }),
      ),
    );
    for (const answer of polled) t.equal(((await answer.json()) as { song: string }).song, `s${i}`);
  }
  for (const reader of watching) {
    await reader.has(10);
    t.same(
      reader.songs,
      Array.from({ length: 10 }, (_, i) => `now s${i}`),
    );
  }
  for (const player of players.values()) {
    await player.until(({ titles }) => titles.at(-1)?.title === 's9');
    t.equal(strayBytes(player.audio), 0, 'whole frames');
  }
  const metrics = await (await fetch(`${server.base}/metrics`)).text();
  t.match(metrics, /^airsplice_pushes_total\{channel="demo",status="200"\} 10$/m);
  t.match(metrics, /^airsplice_listeners\{channel="demo"\} 2$/m);
  const history = (await (await fetch(`${server.base}/metadata/channel/demo/history.json`)).json()) as {
    song: string;
  }[];
  t.equal(history[0]!.song, 's9');
});

t.test(
  'an encoder lands on any worker and feeds the hub: a worker that is killed takes its listeners only',
  async (t) => {
    const machine = await Machine.start(t);
    const encoder = new Feeder(t, machine.port, '/studio.mp3');
    t.equal(await encoder.answered(), 200);
    encoder.stream(t);
    const title = await fetch(`${machine.server.base}/admin/metadata?mount=/studio.mp3&mode=updinfo&song=A+-+B`, {
      headers: { authorization: `Basic ${Buffer.from('source:demo-source').toString('base64')}` },
    });
    t.equal(title.status, 200);
    const other = new Feeder(t, machine.port, '/studio.mp3', { password: 'wrong' });
    t.equal(await other.answered(), 401);
    await until(async () => {
      const metrics = await (await fetch(`${machine.server.base}/metrics`)).text();
      return /^airsplice_source_heard\{channel="studio",kind="encoder",place="0"\} 1$/m.test(metrics);
    }, 10_000);
    const players = await onePerWorker(t, machine, '/studio.mp3');
    const [[first, killed], [, stays]] = [...players] as [[number, Player], [number, Player]];
    process.kill(first, 'SIGKILL');
    await until(() => killed.closed, 5000);
    const before = stays.audioBytes;
    await until(() => machine.pidsOf('worker').length === WORKERS, RESTARTED_MS);
    await stays.until(({ audioBytes }) => audioBytes > before + 32_000);
    t.equal(stays.closed, false);
    t.equal(encoder.closed, false, 'the encoder is with the hub');
    t.equal(strayBytes(stays.audio), 0);
    t.equal(stays.titles.at(-1)?.title, 'A - B');
    const again = await onePerWorker(t, machine, '/studio.mp3');
    t.equal(again.size, WORKERS, 'and the new one serves');
  },
);

t.test('a stop ends all of them, politely, and leaves nothing', async (t) => {
  const machine = await Machine.start(t);
  const players = [...(await onePerWorker(t, machine)).values()];
  const pids = machine.children.map(({ pid }) => pid);
  await machine.server.end('SIGTERM');
  t.equal(machine.server.ended, 0);
  for (const player of players) {
    // What the kernel still held comes behind the end of the process.
    await player.until(({ closed }) => closed);
    t.equal(leftover(player.audio), 0, 'with a whole frame');
  }
  for (const pid of pids) t.notOk(existsSync(`/proc/${pid}`), 'no process is left');
  t.same(
    readdirSync(machine.folder).filter((name) => name.startsWith('airsplice-')),
    [],
    'no local socket is left',
  );
});

t.test('a restart that is asked for while it starts is done once it serves', async (t) => {
  const port = await freePorts(2);
  const folder = tempFolder(t);
  const path = join(folder, 'config.yaml');
  writeFileSync(path, `workers: ${WORKERS}\ndata: { folder: ${join(folder, 'data')} }\n${demoYaml('', port)}`);
  const server = new ServerProcess(t, port, [path], { TMPDIR: folder });
  await until(() => server.err.includes('"process ready"'), RESTARTED_MS);
  t.notMatch(server.err, /"listening"/, 'not all are ready');
  server.child.kill('SIGUSR2');
  await until(
    () => server.err.includes('"restarted"'),
    RESTARTED_MS,
    () => server.err.slice(-1000),
  );
  await server.end('SIGTERM');
  t.equal(server.ended, 0);
});

t.test('encoders over TLS', async (t) => {
  const [port, secure] = [await freePorts(2), await freePorts(2)];
  const address = `{ host: 127.0.0.1, port: ${secure}, tls: { certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem } }`;
  const folder = tempFolder(t);
  const path = join(folder, 'config.yaml');
  const yaml = demoYaml('', port).replace('addresses: [', `addresses: [${address}, `);
  writeFileSync(path, `workers: ${WORKERS}\ndata: { folder: ${join(folder, 'data')} }\n${yaml}`);
  const server = new ServerProcess(t, port, [path], { TMPDIR: folder });
  await server.ready();
  const socket = tls.connect({ port: secure, host: '127.0.0.1', ca: readFileSync(`${PEM}one.cert.pem`) });
  t.teardown(() => socket.destroy());
  let got = '';
  socket.on('data', (chunk: Buffer) => (got += chunk.toString('latin1'))).on('error', () => undefined);
  const login = Buffer.from('source:demo-source').toString('base64');
  socket.write(`PUT /studio.mp3 HTTP/1.1\r\nAuthorization: Basic ${login}\r\nContent-Type: audio/mpeg\r\n\r\n`);
  await until(() => got.includes('\r\n\r\n'), 10_000);
  t.match(got, /^HTTP\/1\.0 200 /);
  let at = 0;
  const timer = setInterval(() => {
    socket.write(Buffer.concat(DEMO_FRAMES.slice(at, (at += 10))));
    if (at + 10 > DEMO_FRAMES.length) at = 0;
  }, 200);
  t.teardown(() => clearInterval(timer));
  await until(async () => {
    const metrics = await (await fetch(`${server.base}/metrics`)).text();
    return /^airsplice_source_heard\{channel="studio",kind="encoder",place="0"\} 1$/m.test(metrics);
  }, 10_000);
  const player = new Player(port, '/studio.mp3', { keep: true });
  t.teardown(() => player.close());
  await player.until(({ audioBytes }) => audioBytes > 20_000);
  // Its worker serves it on, and its bytes go to the next hub.
  server.child.kill('SIGUSR2');
  await until(
    () => server.err.includes('"restarted"'),
    RESTARTED_MS,
    () => server.err.slice(-1000),
  );
  const before = player.audioBytes;
  await player.until(({ audioBytes }) => audioBytes > before + 32_000);
  t.equal(socket.destroyed, false, 'the encoder stays');
  const metrics = await (await fetch(`${server.base}/metrics`)).text();
  t.match(metrics, /^airsplice_source_heard\{channel="studio",kind="encoder",place="0"\} 1$/m);
  t.equal(strayBytes(player.audio), 0);
  await server.end('SIGTERM');
  t.equal(server.ended, 0);
});

t.test('a source on demand, which a listener at a worker wakes at the hub, is waited for', async (t) => {
  const upstream = await Upstream.open(t);
  const random = new Random();
  upstream.answer = (socket) => void socket.write(Buffer.concat([Buffer.from(streamHead()), audioOf(random, 400)]));
  const machine = await Machine.start(t, (port) =>
    patientRelayYaml(upstream.url, ', onDemand: true').replace('port: 0', `port: ${port}`),
  );
  const player = new Player(machine.port, '/relay.mp3');
  t.teardown(() => player.close());
  await player.until(({ status }) => status > 0);
  t.equal(player.status, 200);
});

t.test('while an encoder is waited for, who comes to a worker hears the tape that only the hub has', async (t) => {
  const machine = await Machine.start(
    t,
    (port) => `addresses: [{ host: 127.0.0.1, port: ${port} }]
sources: { aheadSeconds: 10 }
stations: { demo: { channels: { live: { sources: [{ type: encoder, password: demo-source, lingerSeconds: 60 }] } } } }
`,
  );
  const encoder = new Feeder(t, machine.port, '/live');
  t.equal(await encoder.answered(), 200);
  encoder.send(300);
  encoder.socket.end();
  await encoder.over();
  const heads = () =>
    Promise.all(
      Array.from({ length: 8 }, async () => {
        const answer = await fetch(`${machine.server.base}/live`, { method: 'HEAD', headers: { connection: 'close' } });
        return answer.status;
      }),
    );
  await until(async () => (await heads()).every((status) => status === 200), 10_000);
  for (const { status } of (await onePerWorker(t, machine, '/live')).values()) t.equal(status, 200);
});
