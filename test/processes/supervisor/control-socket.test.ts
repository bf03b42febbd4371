/** The local socket for commands: what it answers, and that no client stays for ever. */

import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { control, controlPath, MAX_COMMAND_BYTES } from '../../../src/cli/control-client.js';
import { ASK_MS, MAX_COMMANDS, openControlSocket } from '../../../src/processes/supervisor/control-socket.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until, untilPromised } from '../../kit/until.js';

async function open(t: Test): Promise<{ folder: string; connect(): Socket; asked: string[]; finish(): void }> {
  const folder = tempFolder(t);
  const asked: string[] = [];
  let finish = () => {};
  const long = new Promise<string>((resolve) => {
    finish = () => resolve('at last');
  });
  const commands = {
    reload: async () => {
      asked.push('reload');
      return 'x'.repeat(4_000_000);
    },
    restart: () => {
      asked.push('restart');
      return long;
    },
  };
  t.teardown(await openControlSocket(folder, commands));
  const connect = () => {
    const socket = net.connect({ path: controlPath(folder), allowHalfOpen: true });
    t.teardown(() => socket.destroy());
    return socket.on('error', () => undefined);
  };
  return { folder, connect, asked, finish };
}

t.test('a long answer, such as the plan of a reload that changes each of many channels', async (t) => {
  const { folder } = await open(t);
  t.equal((await control(folder, 'reload', new AbortController().signal)).length, 4_000_000);
});

t.test('silent, slow, endless, deaf, and who never closes: each is ended', async (t) => {
  const { connect, asked } = await open(t);
  const slow = connect();
  const timer = setInterval(() => void (slow.writable && slow.write('r')), 50);
  t.teardown(() => clearInterval(timer));
  const endless = connect();
  endless.write('r'.repeat(MAX_COMMAND_BYTES + 1));
  const deaf = connect();
  deaf.write('reload\n');
  const stays = connect();
  stays.write('nothing\n');
  for (const socket of [endless, stays, slow]) socket.resume();
  const silent = connect().resume();
  const sockets = { silent, slow, endless, stays };
  await untilPromised(
    () => {
      // Only a write shows that both halves are closed there.
      for (const socket of [silent, endless, stays]) if (socket.readableEnded && socket.writable) socket.write('x');
      return Object.values(sockets).every(({ closed }) => closed);
    },
    2 * ASK_MS,
    () =>
      Object.entries(sockets)
        .flatMap(([name, { closed }]) => (closed ? [] : [name]))
        .join(),
  );
  t.same(asked, ['reload']);
  // It reads only now: what came before the end is there.
  let bytes = 0;
  deaf.on('data', ({ length }: Buffer) => (bytes += length)).resume();
  await once(deaf, 'end');
  t.ok(bytes < 4_000_000, `${bytes} bytes`);
});

t.test('a command may take its time; at the limit of commands, and one past it', async (t) => {
  const { connect, asked, finish } = await open(t);
  const sockets = Array.from({ length: MAX_COMMANDS }, connect);
  const answers: string[] = [];
  for (const socket of sockets) socket.on('data', (chunk) => void answers.push(String(chunk))).write('restart\n');
  await until(() => asked.length === MAX_COMMANDS, 10_000);
  const more = connect().resume();
  await until(() => more.readableEnded || more.closed, 5000);
  t.notOk(sockets.some(({ closed }) => closed));
  finish();
  await until(() => answers.length === MAX_COMMANDS, 10_000);
  t.equal(answers[0], '{"done":"at last"}\n');
});
