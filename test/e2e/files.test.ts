/** A process that may open few files: more clients than that come, and afterwards everything is as before. */

import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { softLimit } from '../../src/app/addresses/file-limit.js';
import { Player } from '../kit/player.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { DEMO_AUDIO } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { ask, Wire } from '../kit/wire.js';

const LAUNCHER = ['sh', '-c', 'ulimit -n 200; exec "$0" "$@"'];
const ENCODER = `SOURCE /studio HTTP/1.0\r\nAuthorization: Basic ${btoa('source:demo-source')}\r\n\r\n`;

t.test('the limit as the system reports it', async (t) => {
  const limits = (line: string) =>
    softLimit(`Limit  Soft Limit  Hard Limit  Units\nMax processes  1  2  processes\n${line}`);
  t.equal(limits('Max open files            1024                 524288               files     \n'), 1024);
  t.equal(limits('Max open files            unlimited            unlimited            files     \n'), null);
  t.equal(limits(''), null);
});

t.test(
  '300 connections where 200 files may be open: nobody is held up, all recovers',
  { timeout: 90_000 },
  async (t) => {
    const folder = tempFolder(t);
    const hook = http.createServer((_, response) => response.writeHead(200, { 'icecast-auth-user': '1' }).end());
    await new Promise<void>((done) => hook.listen(0, '127.0.0.1', done));
    t.teardown(() => hook.close());
    const port = await freePort();
    const config = join(folder, 'config.yaml');
    mkdirSync(join(folder, 'data'));
    writeFileSync(
      config,
      `
addresses: [{ host: 127.0.0.1, port: ${port} }]
data: { folder: ${join(folder, 'data')} }
accessLog: { file: ${join(folder, 'access.log')} }
listenerHook: { url: 'http://127.0.0.1:${(hook.address() as { port: number }).port}/', cacheSeconds: 0 }
stations:
  house:
    channels:
      demo: { pushTokens: [demo-token], mounts: [/demo.mp3], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      studio: { sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }] }
      guarded: { access: hook, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      relay: { sources: [{ type: pull, url: 'http://127.0.0.1:${port}/demo', allowPrivate: true, onDemand: true }] }
`,
    );
    const server = new ServerProcess(t, port, [config], {}, LAUNCHER);
    await server.ready();
    const warned = server.err.split('\n').find((line) => line.includes('too few open files'));
    const { files, connections, wanted } = JSON.parse(warned ?? '{}');
    t.match({ files, wanted }, { files: 200, wanted: 25_000 }, 'it says so at the start');
    t.ok(connections > 50 && connections < 160, `${connections} connections`);

    const player = new Player(port, '/demo.mp3');
    t.teardown(() => player.close());
    await player.until(({ audioBytes }) => audioBytes > 20_000);
    const stat = async () => {
      const { body } = await ask(t, port, 'GET /metrics HTTP/1.1');
      return Number(/^process_cpu_seconds_total (\S+)$/m.exec(body)?.[1]);
    };
    // Those that say nothing, those that play, and those that are idle.
    const words = ['', 'GET /demo.mp3 HTTP/1.1\r\nHost: x\r\n\r\n', 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'];
    const crowd = Array.from({ length: 300 }, (_, i) => new Wire(t, port).send(words[i % 3]!));
    await until(() => crowd.filter(({ closed }) => closed).length >= 300 - connections, 20_000);
    const before = { cpu: await stat(), ms: performance.now(), bytes: player.audioBytes };
    t.equal((await ask(t, port, 'GET /metapush/demo/demo-token?song=full HTTP/1.1')).status, 200, 'a push');
    const encoder = new Wire(t, port).send(ENCODER);
    await until(() => encoder.got.startsWith('HTTP/1.0 200'), 5000);
    encoder.socket.destroy();
    await until(
      () => player.audioBytes > before.bytes + 20_000,
      20_000,
      () => 'a listener hears on',
    );
    t.notOk(player.closed);
    const cores = ((await stat()) - before.cpu) / ((performance.now() - before.ms) / 1000);
    t.ok(cores < 0.6, `it does not spin: ${cores.toFixed(2)} cores`);
    t.equal(server.ended, undefined);

    for (const { socket } of crowd) socket.destroy();
    const opened = async (path: string) => {
      const one = new Player(port, path);
      t.teardown(() => one.close());
      await one.until(({ audioBytes }) => audioBytes > 10_000);
      one.close();
    };
    await opened('/guarded');
    await opened('/relay');
    t.equal((await ask(t, port, 'GET / HTTP/1.1')).status, 200, 'a page from the disk');
    t.equal((await ask(t, port, 'GET /metapush/demo/demo-token?song=after HTTP/1.1')).status, 200);
    renameSync(join(folder, 'access.log'), join(folder, 'access.old'));
    server.child.kill('SIGHUP');
    await until(
      () => existsSync(join(folder, 'access.log')),
      10_000,
      () => 'a new access log',
    );
    await server.end('SIGTERM');
    t.equal(server.ended, 0);
    rmSync(folder, { recursive: true, force: true });
  },
);
