/** Processes that hang or are killed: which of them end with them, which are started again, and what was answered before. Real processes. */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import t from 'tap';
import { Feeder } from '../kit/feeder.js';
import { Machine, RESTARTED_MS, WORKERS } from '../kit/machine.js';
import { pause, quietFor } from '../kit/pause.js';
import { isRead, socketsOf } from '../kit/process-sockets.js';
import { missing } from '../kit/program.js';
import { until } from '../kit/until.js';
import { Watching } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = 3;

/** In this time a worker has tried several times to link. */
const TRIED_MS = 500;

t.test('a worker that hangs is killed and started again', { skip: !existsSync('/proc/self/stat') }, async (t) => {
  const machine = await Machine.start(t);
  const [hanging] = machine.pidsOf('worker') as [number];
  process.kill(hanging, 'SIGSTOP');
  await until(() => !existsSync(`/proc/${hanging}`), 10_000);
  await until(() => machine.pidsOf('worker').length === WORKERS, RESTARTED_MS);
  t.match(machine.server.err, /"wasHanging":true/);
  t.equal(await machine.push('after'), 200);
});

t.test('the hub is killed: what was answered stays, pushes wait for the next one', async (t) => {
  const machine = await Machine.start(t);
  const watching = await new Watching(t, `ws://127.0.0.1:${machine.port}/metadata/channel/demo`).opened();
  for (let i = 0; i < 3; i++) {
    t.equal(await machine.push(`before${i}`), 200);
    const [hub] = machine.pidsOf('hub') as [number];
    process.kill(hub, 'SIGKILL');
    t.equal(await machine.push(`during${i}`), 200, 'a push waits for the next hub');
    await until(() => machine.pidsOf('hub').length === 1, RESTARTED_MS);
  }
  await watching.has(6);
  t.same(
    watching.songs,
    [0, 1, 2].flatMap((i) => [`now before${i}`, `now during${i}`]),
  );
  t.equal(watching.code, 0, 'watchers stay');
});

t.test('where the supervisor is killed its children end', async (t) => {
  const machine = await Machine.start(t);
  const pids = machine.children.map(({ pid }) => pid);
  machine.server.child.kill('SIGKILL');
  await until(() => pids.every((pid) => !existsSync(`/proc/${pid}`)), 15_000);
  t.pass();
});

t.test('where the supervisor is killed with a socket on its way to it, its children end too', async (t) => {
  const machine = await Machine.start(t);
  const pids = machine.children.map(({ pid }) => pid);
  machine.server.child.kill('SIGSTOP');
  const encoder = new Feeder(t, machine.port, '/studio.mp3');
  await until(() => isRead(encoder.socket), 10_000);
  machine.server.child.kill('SIGKILL');
  await until(() => pids.every((pid) => !existsSync(`/proc/${pid}`)), 15_000);
  t.pass();
});

t.test('a hub and a worker that begin together: each change is said once', async (t) => {
  const machine = await Machine.start(t);
  const [hub] = machine.pidsOf('hub') as [number];
  const [worker] = machine.pidsOf('worker') as [number];
  process.kill(hub, 'SIGKILL');
  await until(() => machine.pidsOf('hub').some((pid) => pid !== hub), RESTARTED_MS);
  const [next] = machine.pidsOf('hub') as [number];
  // As one whose store has much.
  process.kill(next, 'SIGSTOP');
  process.kill(worker, 'SIGKILL');
  await until(() => machine.pidsOf('worker').filter((pid) => pid !== worker).length === WORKERS, RESTARTED_MS);
  await pause(TRIED_MS);
  process.kill(next, 'SIGCONT');
  const isThere = async () => {
    const metrics = await fetch(`${machine.server.base}/metrics`, { headers: { connection: 'close' } });
    return new RegExp(`^airsplice_workers ${WORKERS}$`, 'm').test(await metrics.text());
  };
  await until(isThere, RESTARTED_MS);
  await quietFor(TRIED_MS);
  t.ok(await isThere(), 'each worker has one link');
  const watching = await Promise.all(
    Array.from(
      { length: 6 },
      async () => await new Watching(t, `ws://127.0.0.1:${machine.port}/metadata/channel/demo`).opened(),
    ),
  );
  for (const song of ['one', 'two', 'three']) t.equal(await machine.push(song), 200);
  for (const reader of watching) {
    await reader.has(3);
    t.same(reader.songs, ['now one', 'now two', 'now three']);
  }
});

t.test(
  'encoders that come while the hub hangs: none is forgotten',
  { skip: !existsSync('/proc/self/fd') },
  async (t) => {
    const machine = await Machine.start(t);
    const sockets = () => socketsOf(machine.server.child.pid!).size;
    const before = sockets();
    const hub = machine.pidsOf('hub')[0]!;
    process.kill(hub, 'SIGSTOP');
    const encoders = Array.from({ length: 4 }, () => new Feeder(t, machine.port, '/studio.mp3'));
    await until(() => !existsSync(`/proc/${hub}`), 10_000);
    await until(() => encoders.every(({ answer, closed }) => closed || answer !== ''), RESTARTED_MS);
    t.same(
      encoders.map(({ status }) => status).sort(),
      [0, 200, 409, 409],
      'those that had not been sent wait for the next hub',
    );
    t.equal(sockets(), before, 'the supervisor keeps none');
  },
);

t.test('an encoder that goes while the hub is waited for: its worker stays', async (t) => {
  const machine = await Machine.start(t);
  const before = machine.pidsOf('worker');
  const hub = machine.pidsOf('hub')[0]!;
  process.kill(hub, 'SIGKILL');
  await until(() => machine.pidsOf('hub').some((pid) => pid !== hub), RESTARTED_MS);
  process.kill(machine.pidsOf('hub')[0]!, 'SIGSTOP');
  const encoder = new Feeder(t, machine.port, '/studio.mp3');
  await until(() => isRead(encoder.socket), 10_000);
  encoder.socket.resetAndDestroy();
  process.kill(machine.pidsOf('hub')[0]!, 'SIGCONT');
  t.equal(await machine.push('after'), 200);
  t.same(machine.pidsOf('worker'), before);
  t.notMatch(machine.server.err, /uncaught exception/);
});

t.test('processes that cannot be started now are started later', { skip: missing('prlimit') }, async (t) => {
  const machine = await Machine.start(t);
  const { child, base } = machine.server;
  const limit = (files: number) => execFileSync('prlimit', ['--pid', String(child.pid), `--nofile=${files}:`]);
  limit(3);
  for (const { pid } of machine.children.slice(0, 2)) process.kill(pid, 'SIGKILL');
  await until(() => machine.logged('EMFILE') >= 4, RESTARTED_MS);
  t.ok((await fetch(`${base}/metadata/channel/demo.json`)).ok, 'the others serve');
  limit(1000);
  await until(() => machine.children.length === 1 + WORKERS, RESTARTED_MS);
  await machine.server.ready();
  t.equal(await machine.push('after'), 200);
});
