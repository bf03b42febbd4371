/** An uncaught exception: streams end with a whole frame, the log's last line says why, and the next start goes on at once. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { bestOfThree } from '../kit/best-of-three.js';
import { leftover } from '../kit/frame-recorder.js';
import { MachineDelay } from '../kit/machine-delay.js';
import { Player } from '../kit/player.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

// They wait more than they compute.
t.jobs = 4;

const THROWS = new URL('../kit/throws.mjs', import.meta.url).pathname;
/** The promise is 2 s on a machine of its own. */
const AGAIN_MS = 2000 * 3;

async function start(t: Test, port: number, folder: string, extra = '', launcher: readonly string[] = []) {
  const config = join(folder, 'config.yaml');
  writeFileSync(config, `data: { folder: ${join(folder, 'data')} }\n${demoYaml(extra, port)}`);
  return new ServerProcess(t, port, [config], {}, launcher, THROWS);
}

async function over(server: ServerProcess): Promise<void> {
  await until(
    () => server.ended !== undefined,
    20_000,
    () => server.err,
  );
}

function lastLine(server: ServerProcess): Record<string, unknown> {
  return JSON.parse(server.err.trimEnd().split('\n').at(-1)!) as Record<string, unknown>;
}

for (const [signal, message] of [
  ['SIGUSR2', 'out of a timer'],
  ['SIGHUP', 'out of a promise'],
] as const) {
  t.test(`an uncaught exception, ${message}`, async (t) => {
    const folder = tempFolder(t);
    const port = await freePort();
    const server = await start(t, port, folder);
    await server.ready();
    const push = await fetch(`${server.base}/metapush/demo/demo-token?song=before`);
    t.equal(push.status, 200);
    const listeners = [true, false].map((icy) => new Player(port, '/demo.mp3', { keep: true, icy }));
    for (const player of listeners) await player.until((p) => p.audioBytes > 16_000);
    const ws = new WebSocket(`ws://127.0.0.1:${port}/metadata/channel/demo`);
    let closedWith = 0;
    ws.on('close', (code) => (closedWith = code));
    await new Promise((done) => ws.once('message', done));

    server.child.kill(signal);
    await over(server);
    t.equal(server.ended, 70, server.err);
    await until(() => server.err.endsWith('\n'), 5000);
    t.match(lastLine(server), { level: 60, msg: /uncaught exception/, err: { message, stack: /throws\.mjs/ } });
    t.equal(closedWith, 1001);
    for (const player of listeners) {
      await player.until((p) => p.closed);
      t.equal(leftover(player.audio), 0, 'the stream ended with a whole frame');
    }

    const minMs = await bestOfThree(AGAIN_MS, async () => {
      const startMs = performance.now();
      const again = await start(t, port, folder);
      const delay = new MachineDelay(t, again.child.pid!);
      await again.ready();
      const player = new Player(port, '/demo.mp3');
      await player.until((p) => p.audioBytes > 0 && p.titles.length > 0);
      const ms = performance.now() - startMs - delay.totalMs;
      t.equal(player.titles[0]!.title, 'before');
      player.close();
      await again.end('SIGTERM');
      t.equal(again.ended, 0, again.err);
      return ms;
    });
    t.ok(minMs < AGAIN_MS, `the next start plays after ${Math.round(minMs)} ms`);
  });
}

t.test('a second exception while it stops ends it where it is', async (t) => {
  const folder = tempFolder(t);
  const port = await freePort();
  const server = await start(t, port, folder);
  await server.ready();
  // It takes nothing: its stream does not end before it is cut.
  const deaf = new Player(port, '/demo.mp3');
  await deaf.until((p) => p.audioBytes > 0);
  deaf.socket.pause();
  server.child.kill('SIGUSR2');
  await until(() => /uncaught exception/.test(server.err), 5000);
  server.child.kill('SIGUSR2');
  await over(server);
  t.equal(server.ended, 70, server.err);
  t.equal(server.err.match(/uncaught exception/g)?.length, 1);
  deaf.close();
});

t.test('an exception while nobody takes the log: it ends all the same, and not well', async (t) => {
  const folder = tempFolder(t);
  const server = await start(t, await freePort(), folder, 'limits: { pushesPerMinute: 1000000, pushBurst: 1000000 }');
  await server.ready();
  server.child.stderr!.pause();
  for (let i = 0; i < 200; i++) {
    await fetch(`${server.base}/metapush/demo/demo-token?song=${i}-${'x'.repeat(1000)}`).then((it) => it.arrayBuffer());
  }
  server.child.kill('SIGUSR2');
  await over(server);
  t.ok(server.ended === 70 || server.ended === 'SIGKILL', String(server.ended));
});
