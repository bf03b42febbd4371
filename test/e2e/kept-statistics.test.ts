/**
 * Statistics of the server as an operator runs it, over real minutes: what was counted is there after `kill -9`, up to the minute that went on; and a worker
 * that dies takes its own minute along and no other.
 */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Player } from '../kit/player.js';
import { freePorts, ServerProcess } from '../kit/process.js';
import { heldAt, listeningChildrenOf } from '../kit/process-sockets.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

t.jobs = 2;

const HEADERS = { Authorization: `Basic ${Buffer.from('ann:let me count').toString('base64')}` };
/** A minute, the time until all processes have said theirs, and a machine that is busy. */
const MINUTE_MS = 90_000;
const MAX_PLAYERS = 100;

async function begin(t: Test, workers: number) {
  const folder = tempFolder(t);
  const port = await freePorts(2);
  const config = join(folder, 'config.yaml');
  const extra = "admin: { users: { ann: { password: 'env:STATISTICS_PASSWORD' } } }\nlog: { level: warn }";
  writeFileSync(config, `workers: ${workers}\ndata: { folder: ${join(folder, 'data')} }\n${demoYaml(extra, port)}`);
  const start = async () => {
    const server = new ServerProcess(t, port, [config], { STATISTICS_PASSWORD: 'let me count', TMPDIR: folder });
    await server.ready();
    return server;
  };
  return { port, start };
}

function listen(t: Test, port: number, count: number): Player[] {
  const players = Array.from({ length: count }, (_, i) => new Player(port, '/demo.mp3', { agent: `VLC/${i}` }));
  t.teardown(() => players.forEach(({ socket }) => void socket.destroy()));
  return players;
}

async function totals(port: number) {
  const answer = await fetch(`http://127.0.0.1:${port}/admin/api/statistics?channel=demo&by=minute`, {
    headers: HEADERS,
  });
  return ((await answer.json()) as { totals: { connections: number; listeners: number; listeningHours: number } })
    .totals;
}

t.test('kill -9 loses a minute at most', async (t) => {
  const { port, start } = await begin(t, 0);
  const server = await start();
  const players = listen(t, port, 5);
  await until(() => players.every(({ audioBytes }) => audioBytes > 0), 20_000);
  await until(async () => (await totals(port)).connections === 5, MINUTE_MS, undefined, 500);
  const before = await totals(port);
  t.ok(before.listeningHours > 0);
  t.equal(before.listeners, 5);
  await server.end('SIGKILL');
  await start();
  t.same(await totals(port), before);
});

t.test('a worker that dies takes its minute along, and no other', { skip: !existsSync('/proc/net/tcp') }, async (t) => {
  const { port, start } = await begin(t, 2);
  const server = await start();
  const workersOf = () => listeningChildrenOf(server.child.pid!, port);
  await until(() => workersOf().length === 2, 20_000);
  const workers = workersOf();
  // Who accepts a connection is the system's choice: listeners come until each worker has some.
  const players: Player[] = [];
  const heldBy = (pid: number) => {
    const ports = heldAt(port, pid);
    return players.filter(({ socket }) => ports.includes(socket.localPort ?? -1));
  };
  while (players.length < MAX_PLAYERS && workers.some((pid) => heldBy(pid).length < 3)) {
    players.push(...listen(t, port, 4));
    await until(() => players.every(({ audioBytes }) => audioBytes > 0), 20_000);
  }
  await until(async () => (await totals(port)).connections === players.length, MINUTE_MS, undefined, 500);
  const before = await totals(port);
  const lost = heldBy(workers[0]!);
  t.ok(lost.length >= 3 && lost.length <= players.length - 3, `${lost.length} of ${players.length} listeners`);
  process.kill(workers[0]!, 'SIGKILL');
  await until(() => lost.every(({ closed }) => closed), 20_000);
  const left = players.filter(({ closed }) => !closed);
  t.equal(left.length, players.length - lost.length, 'no other is cut');
  t.ok((await totals(port)).listeningHours >= before.listeningHours, 'what was kept is kept');
  await until(async () => (await totals(port)).listeningHours > before.listeningHours, MINUTE_MS, undefined, 500);
  const after = await totals(port);
  const moreSeconds = (after.listeningHours - before.listeningHours) * 3600;
  t.ok(moreSeconds > 0 && moreSeconds < left.length * 125, `${left.length} go on being counted: ${moreSeconds} s`);
  t.equal(after.connections, players.length);
});
