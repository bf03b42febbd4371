/**
 * The server as systemd has it: what it says at a socket like systemd's own, of one process and of many, and the unit that ships. A real systemd runs
 * the unit in long/debian-package.test.ts.
 */

import { execFile } from 'node:child_process';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { Machine, RESTARTED_MS } from '../kit/machine.js';
import { NotifySocket } from '../kit/notify-socket.js';
import { quietFor } from '../kit/pause.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const UNIT = new URL('../../config/deploy/systemd/airsplice.service', import.meta.url).pathname;
const skip = missing('systemd-notify', 'python3');
const run = promisify(execFile);
/** A sign of life each second. */
const WATCHDOG_USEC = '3000000';
/** In which systemd would have acted. */
const QUIET_MS = 4000;
/** Of `systemd-analyze security`: 2.5 of 10. */
const MAX_EXPOSED = 25;

t.test('the unit has no mistake, and exposes little', { skip: missing('systemd-analyze') }, async (t) => {
  const folder = tempFolder(t);
  const unit = join(folder, 'airsplice.service');
  // The program need not be installed here.
  writeFileSync(unit, readFileSync(UNIT, 'utf8').replaceAll('/usr/bin/airsplice', process.execPath));
  const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', unit]);
  t.equal(
    `${stdout}${stderr}`
      .split('\n')
      .filter((line) => line.includes('airsplice'))
      .join('\n'),
    '',
  );
  const args = ['security', '--offline=yes', `--threshold=${MAX_EXPOSED}`, '--no-pager', unit];
  const verdict = await run('systemd-analyze', args).catch((error) => error);
  t.equal(verdict.code, undefined, verdict.stdout?.slice(-200));
});

/** The server as one process, that notifies the socket. @param env what its environment has besides */
async function startNotifying(t: Test, folder: string, env: Readonly<Record<string, string>>) {
  const socket = await new NotifySocket(t, folder).bound();
  const port = await freePort();
  const config = join(folder, 'config.yaml');
  writeFileSync(config, `data: { folder: ${join(folder, 'data')} }\n${demoYaml('', port)}`);
  const server = new ServerProcess(t, port, [config], { NOTIFY_SOCKET: socket.path, ...env });
  return { socket, port, server };
}

t.test('one process: serves, reads again, stands still, goes on, stops', { skip }, async (t) => {
  const { socket, port, server } = await startNotifying(t, tempFolder(t), { WATCHDOG_USEC });
  await socket.heard('READY=1', 1, 60_000);
  t.equal((await fetch(`${server.base}/readyz`)).status, 200, 'it serves when it says so');
  t.ok(socket.lines.includes(`STATUS=serving at port ${port}`));
  await socket.heard('WATCHDOG=1', 2);
  server.child.kill('SIGHUP');
  await socket.heard('RELOADING=1');
  await socket.heard('READY=1', 2);

  server.child.kill('SIGSTOP');
  await quietFor(1000);
  const signs = socket.count('WATCHDOG=1');
  await quietFor(QUIET_MS);
  t.equal(socket.count('WATCHDOG=1'), signs, 'no sign of life of an event loop that stands still');
  server.child.kill('SIGCONT');
  await socket.heard('WATCHDOG=1', signs + 2);
  t.equal(socket.count('STOPPING=1'), 0);
  await server.end('SIGTERM');
  await socket.heard('STOPPING=1');
  t.equal(server.ended, 0);
});

t.test('systemd hears of a stop though what was said before is still on its way', { skip }, async (t) => {
  const folder = tempFolder(t);
  const { stdout } = await run('sh', ['-c', 'command -v systemd-notify']);
  const slow = `#!/bin/sh\ncase "$*" in READY=*) sleep 2 ;; esac\nexec ${stdout.trim()} "$@"\n`;
  writeFileSync(join(folder, 'systemd-notify'), slow, { mode: 0o755 });
  const PATH = `${folder}:${process.env['PATH']}`;
  const { socket, server } = await startNotifying(t, folder, { PATH });
  await until(async () => (await fetch(`${server.base}/readyz`).catch(() => undefined))?.status === 200, 60_000);
  await server.end('SIGTERM');
  await socket.heard('STOPPING=1', 1, 1000);
  t.equal(server.ended, 0);
});

t.test('workers: the supervisor speaks for all, and is silent while there is no hub', { skip }, async (t) => {
  const folder = tempFolder(t);
  const socket = await new NotifySocket(t, folder).bound();
  const machine = await Machine.start(t, undefined, [
    'env',
    `NOTIFY_SOCKET=${socket.path}`,
    `WATCHDOG_USEC=${WATCHDOG_USEC}`,
  ]);
  await socket.heard('READY=1');
  for (const { pid } of machine.children) t.notMatch(readFileSync(`/proc/${pid}/environ`, 'latin1'), /NOTIFY_SOCKET/);
  await socket.heard('WATCHDOG=1', 2);

  const before = machine.children.map(({ pid }) => pid);
  machine.server.child.kill('SIGUSR2');
  await until(
    () => machine.logged('"restarted"') > 0,
    RESTARTED_MS,
    () => machine.news,
  );
  // The one before ends by itself, as soon as all that it held has gone over.
  await until(
    () => !machine.pidsOf('hub').some((pid) => before.includes(pid)),
    RESTARTED_MS,
    () => machine.news,
  );
  t.equal(socket.count('READY=1'), 1, 'and the unit stayed as it was');
  t.equal(socket.count('STOPPING=1'), 0);
  await socket.heard('WATCHDOG=1', socket.count('WATCHDOG=1') + 1);

  // The next hub finds no folder for its store.
  const data = join(machine.folder, 'data');
  renameSync(data, `${data}.away`);
  writeFileSync(data, '');
  process.kill(machine.pidsOf('hub')[0]!, 'SIGKILL');
  await socket.heard('STATUS=there is no hub', 1, RESTARTED_MS);
  const signs = socket.count('WATCHDOG=1');
  await quietFor(QUIET_MS);
  t.equal(socket.count('WATCHDOG=1'), signs, 'the supervisor lives, but the server does not do its work');
  rmSync(data);
  renameSync(`${data}.away`, data);
  await socket.heard('WATCHDOG=1', signs + 2, RESTARTED_MS);
  machine.server.child.kill('SIGTERM');
  await socket.heard('STOPPING=1');
  await until(() => machine.server.ended !== undefined, 20_000);
});
