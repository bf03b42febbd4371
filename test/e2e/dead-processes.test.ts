/** Processes that hang or are killed: which of them end with them, which are started again, and what was answered before. Real processes. */

import { existsSync } from 'node:fs';
import t from 'tap';
import { Feeder } from '../kit/feeder.js';
import { Machine, RESTARTED_MS, WORKERS } from '../kit/machine.js';
import { until } from '../kit/player.js';
import { isRead } from '../kit/process-sockets.js';
import { Watching } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = 3;

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
