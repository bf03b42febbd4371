/** config/cluster: one command starts two machines with Redis and HAProxy; through the proxy come streams, encoders, WebSocket and pushes; one may stop. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { airsplice } from '../kit/command-line.js';
import { Player } from '../kit/player.js';
import { freePort, freePorts, PROGRAM } from '../kit/process.js';
import { childrenOf } from '../kit/process-sockets.js';
import { missing } from '../kit/program.js';
import { noRedis } from '../kit/redis.js';
import { StampedEncoder, StampedReader } from '../kit/stamped.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { ask, Watching } from '../kit/wire.js';

const ROOT = new URL('../../', import.meta.url).pathname;

t.setTimeout(200_000);

/** A copy with ports of this test's own. */
async function copyOf(
  folder: string,
): Promise<{ readonly front: number; readonly nodes: readonly [number, number]; readonly ops: number }> {
  // What lies side by side in the example does so here: the machines must not take one another's.
  const [http, tapes, ops] = [await freePorts(4), await freePorts(2), await freePorts(2)];
  const ports: (readonly [string, number])[] = [
    ...[0, 1, 2].map((i) => [`${8000 + i}`, http + i] as const),
    ...[0, 1].map((i) => [`${8101 + i}`, tapes + i] as const),
    ...[0, 1].map((i) => [`${8201 + i}`, ops + i] as const),
    ['6390', await freePort()],
  ];
  cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true });
  for (const file of ['node.yaml', 'haproxy.cfg', 'start.sh']) {
    const path = join(folder, 'config/cluster', file);
    const text = ports.reduce((all, [from, to]) => all.replaceAll(from, `${to}`), readFileSync(path, 'utf8'));
    writeFileSync(
      path,
      text
        .replace('node "$main"', `exec node ${PROGRAM.map((each) => `'${each}'`).join(' ')}`)
        .replace('node "$main"', `exec node ${PROGRAM.map((each) => `'${each}'`).join(' ')}`),
    );
  }
  symlinkSync(join(ROOT, 'dist'), join(folder, 'dist'));
  const of = (port: string) => ports.find(([from]) => from === port)![1];
  return { front: of('8000'), nodes: [of('8001'), of('8002')], ops: of('8201') };
}

t.test('the example', { skip: noRedis || missing('haproxy') }, async (t) => {
  const folder = tempFolder(t);
  const { front, nodes, ops } = await copyOf(folder);
  const child = spawn(join(folder, 'config/cluster/start.sh'), [], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '', TMPDIR: folder },
  });
  let said = '';
  for (const out of [child.stdout, child.stderr]) out.on('data', (chunk) => (said += chunk));
  t.teardown(() => child.kill('SIGTERM'));
  const isReady = async () => {
    const answer = await fetch(`http://127.0.0.1:${front}/readyz?channels`).catch(() => null);
    return answer?.ok ?? false;
  };
  await until(isReady, 60_000, () => said.slice(-2000));
  /** Of one of them, as HAProxy asks it, for a client that is nobody. */
  const own = (port: number, path: string) =>
    ask(t, port, `PROXY TCP4 192.0.2.1 127.0.0.1 1 ${port}\r\nGET ${path} HTTP/1.1`);
  const areReady = async () => {
    const answers = await Promise.all(nodes.map((port) => own(port, '/readyz?channels')));
    return answers.every(({ status }) => status === 200);
  };
  await until(
    async () => said.match(/ plays\./g)?.length === 2,
    60_000,
    () => said.slice(-2000),
  );
  await until(areReady, 30_000, () => said.slice(-2000));
  t.match(said, `  open    http://127.0.0.1:${front}/\n`);
  const asked = await airsplice(['cluster', '--url', `http://127.0.0.1:${ops}`]);
  t.match(asked, { code: 0, out: /^one: ready\n/ });
  t.match(await (await fetch(`http://127.0.0.1:${ops}/metrics`)).text(), /airsplice_cluster_/);

  const reader = new StampedReader('mp3', new Map());
  const watching = new Watching(t, `ws://127.0.0.1:${front}/metadata/channel/studio`);
  await until(
    () => watching.open,
    5000,
    () => 'no WebSocket',
  );
  const encoder = new StampedEncoder(t, front, '/studio', 'demo-source', 'mp3', 5);
  await until(
    () => encoder.isTaken,
    10_000,
    () => `no encoder: ${encoder.answer}`,
  );
  await until(
    async () => JSON.parse((await own(nodes[0], '/readyz?channels')).body).channels[0].source === 'encoder',
    5000,
    () => 'the encoder is not heard',
  );
  const player = new Player(front, '/studio.mp3', { keep: true });
  t.teardown(() => player.close());
  t.equal((await ask(t, front, 'GET /metapush/studio/studio-token?artist=A&song=B HTTP/1.1')).status, 200);
  await player.until(({ titles }) => titles.some(({ title }) => title === 'A - B'), 20_000);
  await until(
    () => watching.records.at(-1)?.song === 'B',
    5000,
    () => 'the watcher got no title',
  );
  for (const port of nodes) t.equal((await own(port, '/metadata/channel/studio.json')).json().song, 'B');
  const audio = player.audio;
  // Behind the file's audio, if it began with that.
  const at = audio.indexOf(Buffer.from('fffb9064', 'hex'), Math.max(0, audio.length - 20_000));
  reader.feed(audio.subarray(at));
  t.equal(reader.fault, '');

  const one = childrenOf(child.pid!).find((pid) =>
    readFileSync(`/proc/${pid}/environ`, 'latin1').includes('\0NODE=one\0'),
  );
  const machine = [one!, ...childrenOf(one!)];
  process.kill(one!, 'SIGKILL');
  await until(
    () => !machine.some((pid) => existsSync(`/proc/${pid}`)),
    5000,
    () => 'it has not ended',
  );
  const other = new Player(front, '/studio.mp3', { keep: true });
  t.teardown(() => other.close());
  await other.until(({ audioBytes }) => audioBytes > 50_000, 20_000);
  t.equal((await ask(t, front, 'GET /metapush/studio/studio-token?artist=A&song=C HTTP/1.1')).status, 200);
  await other.until(({ titles }) => titles.some(({ title }) => title === 'A - C'), 20_000);

  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  t.equal(code, 0, 'it ends all that it has started');
  await t.rejects(fetch(`http://127.0.0.1:${front}/healthz`), 'nothing is left');
});
