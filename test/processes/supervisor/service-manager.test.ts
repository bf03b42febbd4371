/** What systemd hears, at a socket like its own: in order, signs of life only while nothing ails the server, and nothing where nobody listens. */

import t from 'tap';
import { openLog } from '../../../src/base/log.js';
import { ServiceManager } from '../../../src/processes/supervisor/service-manager.js';
import { NotifySocket } from '../../kit/notify-socket.js';
import { quietFor } from '../../kit/pause.js';
import { missing } from '../../kit/program.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';

const skip = missing('systemd-notify', 'python3');
const { log: silent } = openLog('silent', 0);
const WATCHDOG_USEC = '300000';
/** Longer than systemd would wait. */
const QUIET_MS = 700;
const PATH = process.env['PATH'];

t.test('says what it does, in order', { skip }, async (t) => {
  const socket = await new NotifySocket(t, tempFolder(t)).bound();
  const env = { PATH, NOTIFY_SOCKET: socket.path };
  const service = new ServiceManager(env, silent);
  t.strictSame(env, { PATH }, 'taken out of what child processes get');
  service.ready('serving at port 8000', () => null);
  await service.reload(() => undefined);
  await t.rejects(
    service.reload(() => {
      throw new Error('wrong');
    }),
    /wrong/,
  );
  await service.stopping();
  await socket.heard('STOPPING=1', 1, 1000);
  const kinds = socket.lines.map((line) => line.replace(/^(MONOTONIC_USEC=)\d+$/, '$1'));
  const ready = ['READY=1', 'STATUS=serving at port 8000'];
  const reload = ['RELOADING=1', 'MONOTONIC_USEC=', ...ready];
  t.strictSame(kinds, [...ready, ...reload, ...reload, 'STOPPING=1']);
});

t.test('is alive only while nothing ails it, and systemd sees what does', { skip }, async (t) => {
  const socket = await new NotifySocket(t, tempFolder(t)).bound();
  const service = new ServiceManager({ PATH, NOTIFY_SOCKET: socket.path, WATCHDOG_USEC }, silent);
  let fault: string | null = null;
  service.ready('serving', () => fault);
  await socket.heard('WATCHDOG=1', 3);
  fault = 'there is no hub';
  await socket.heard('STATUS=there is no hub');
  const before = socket.count('WATCHDOG=1');
  await quietFor(QUIET_MS);
  t.equal(socket.count('WATCHDOG=1'), before, 'no sign of life');
  fault = null;
  await socket.heard('WATCHDOG=1', before + 2);
  t.equal(socket.count('STATUS=serving'), 2, 'and well again');
  await service.stopping();
  await socket.heard('STOPPING=1', 1, 1000);
});

t.test('no signs of life for another process, or where none are wanted', { skip }, async (t) => {
  const socket = await new NotifySocket(t, tempFolder(t)).bound();
  const env = { PATH, NOTIFY_SOCKET: socket.path };
  const services = [
    new ServiceManager({ ...env, WATCHDOG_USEC, WATCHDOG_PID: '1' }, silent),
    new ServiceManager(env, silent),
    new ServiceManager({ PATH, WATCHDOG_USEC }, silent),
  ];
  for (const service of services) service.ready('serving', () => null);
  await socket.heard('READY=1', 2);
  await quietFor(QUIET_MS);
  t.equal(socket.count('WATCHDOG=1'), 0);
  t.equal(socket.count('READY=1'), 2, 'the third has nobody to speak to');
  for (const service of services) await service.stopping();
});

t.test('where systemd-notify is missing the log says so, once', async (t) => {
  const warned: unknown[] = [];
  const log = { ...silent, warn: (...line: unknown[]) => void warned.push(line) };
  const service = new ServiceManager({ PATH: '/nowhere', NOTIFY_SOCKET: '/nowhere/socket' }, log as typeof silent);
  service.ready('serving', () => null);
  await service.reload(() => undefined);
  await until(() => warned.length > 0, 10_000);
  await quietFor(200);
  t.equal(warned.length, 1);
});
