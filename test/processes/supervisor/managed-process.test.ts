/** A child as its supervisor has it: what it is sent when, and the end of one that was never started. The child is a few lines. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import net, { type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { MESSAGES_VERSION, type ToChild } from '../../../src/processes/messages.js';
import { type EndOfProcess, launchOf, ManagedProcess } from '../../../src/processes/supervisor/managed-process.js';
import { processorUse } from '../../../src/processes/supervisor/process-silence.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';

const paths = (name: string) => ({ link: `${name}.hub` });
const boot = { source: { path: 'none', value: {}, order: [] }, number: 1, hub: paths('first'), offers: 0 };

/** It repeats what it hears, and says that it runs when it gets the signal. */
const REPEATS = (version: number) => `
process.on('message', (heard, socket) => {
  process.send({ type: 'heard', heard: heard.type, hasSocket: socket !== undefined });
  socket?.destroy();
});
process.on('SIGUSR2', () => process.send({ type: 'waiting', version: ${version} }));
process.send({ type: 'loaded' });
`;

/** It answers: copies once, steps but the last one, and that it has handed over. */
const ANSWERS = `
process.on('message', ({ type, id, step }) => {
  if (type === 'backup') process.send({ type: 'backedUp', id, name: id === 1 ? 'copy' : null, reason: 'the disk is full' });
  if (type === 'reloadStep') process.send({ type, id, step, reason: step === 'commit' ? 'no' : null });
  if (type === 'handover') process.send({ type: 'released' });
});
process.on('SIGUSR2', () => process.send({ type: 'waiting', version: ${MESSAGES_VERSION} }));
process.send({ type: 'loaded' });
`;

/** It runs, and spins until the file is there; then it is alive again. */
const SPINS = (file: string) => `
import { existsSync } from 'node:fs';
process.on('message', ({ type }) => {
  if (type === 'boot') process.send({ type: 'ready', steps: 0 });
  if (type !== 'reopen') return;
  while (!existsSync(${JSON.stringify(file)}));
  process.send({ type: 'loaded' });
});
process.on('SIGUSR2', () => process.send({ type: 'waiting', version: ${MESSAGES_VERSION} }));
process.send({ type: 'loaded' });
`;

class Child {
  readonly process: ManagedProcess;
  readonly said: unknown[] = [];
  why: EndOfProcess | null = null;

  constructor(t: Test, program: string, script = join(tempFolder(t), 'child.mjs')) {
    if (!script.includes('\0')) writeFileSync(script, program);
    this.process = new ManagedProcess({
      role: 'hub',
      boot,
      launch: launchOf(script),
      onReady: () => undefined,
      onMessage: (_child, message) => void this.said.push(message),
      onEnded: (_child, why) => {
        this.why = why;
      },
    });
    t.teardown(() => this.process.kill());
  }

  async loaded(): Promise<this> {
    await until(() => this.said.splice(0).length > 0, 10_000);
    return this;
  }

  /** It says that it runs. */
  run(): void {
    process.kill(this.process.pid!, 'SIGUSR2');
  }
}

/** One that is open, and whether its other end has seen it close. */
async function socketOf(t: Test): Promise<{ socket: Socket; isOver(): boolean }> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const other = net.connect((server.address() as net.AddressInfo).port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  let isOver = false;
  other.resume().on('close', () => {
    isOver = true;
  });
  t.teardown(() => {
    for (const each of [server, other]) each instanceof net.Server ? each.close() : each.destroy();
    socket.destroy();
  });
  return { socket, isOver: () => isOver };
}

const HUB: ToChild = { type: 'hub', hub: paths('second') };

t.test('what it is sent before it says that it runs it gets behind its work', async (t) => {
  const child = await new Child(t, REPEATS(MESSAGES_VERSION)).loaded();
  const { socket, isOver } = await socketOf(t);
  const sent: boolean[] = [];
  child.process.send(HUB);
  child.process.send({ type: 'reopen' }, socket, (isSent) => {
    sent.push(isSent);
    socket.destroy();
  });
  t.same([child.said, sent], [[], []]);
  child.run();
  await until(() => child.said.length === 3, 10_000);
  t.same(child.said, [
    { type: 'heard', heard: 'boot', hasSocket: false },
    { type: 'heard', heard: 'hub', hasSocket: false },
    { type: 'heard', heard: 'reopen', hasSocket: true },
  ]);
  t.same(sent, [true]);
  await until(isOver, 10_000);
});

t.test('of another version: it is sent nothing, and ended; a socket stays with who wanted to send it', async (t) => {
  const child = await new Child(t, REPEATS(MESSAGES_VERSION + 1)).loaded();
  const { socket, isOver } = await socketOf(t);
  const sent: boolean[] = [];
  child.process.send(HUB, socket, (isSent) => sent.push(isSent));
  child.run();
  await child.process.ended();
  t.match(child.why, { signal: 'SIGKILL', reason: /stop and start the server/ });
  t.same([child.said, sent, isOver()], [[], [false], false]);
  child.process.send(HUB, socket, (isSent) => sent.push(isSent));
  t.same(sent, [false, false]);
});

t.test('one that hangs: of the sockets on their way all but the first stay', async (t) => {
  const child = await new Child(t, REPEATS(MESSAGES_VERSION)).loaded();
  child.run();
  await until(() => child.said.length === 1, 10_000);
  process.kill(child.process.pid!, 'SIGSTOP');
  const sockets = [await socketOf(t), await socketOf(t), await socketOf(t)];
  const sent: boolean[] = [];
  for (const [i, { socket }] of sockets.entries()) {
    child.process.send(HUB, socket, (isSent) => {
      sent[i] = isSent;
      if (isSent) socket.destroy();
    });
  }
  await until(() => sent.length > 0, 10_000);
  child.process.kill();
  await child.process.ended();
  t.same(sent, [true, false, false]);
  await until(() => sockets[0]!.isOver(), 10_000);
  t.same([sockets[1]!.isOver(), sockets[2]!.isOver()], [false, false]);
});

t.test('one that spins is killed; one that gets no processor is not', async (t) => {
  const spin = async (folder: string) => {
    const file = join(folder, 'enough');
    const child = await new Child(t, SPINS(file)).loaded();
    child.run();
    await until(() => child.process.isReady, 10_000);
    child.process.send({ type: 'reopen' });
    return { child, file, sinceMs: performance.now() };
  };
  const spinning = await spin(tempFolder(t));
  await spinning.child.process.ended();
  t.match(spinning.child.why, { signal: 'SIGKILL', wasHanging: true });

  const starving = await spin(tempFolder(t));
  const pid = String(starving.child.process.pid);
  const ofOneCpu = spawnSync('taskset', ['-cp', '0', pid]);
  t.equal(ofOneCpu.status, 0, String(ofOneCpu.stderr));
  t.equal(spawnSync('chrt', ['-a', '--idle', '-p', '0', pid]).status, 0, 'it runs where no other wants to');
  const others = [1, 2, 3].map(() =>
    spawn('nice', ['-n', '19', 'taskset', '-c', '0', process.execPath, '-e', 'for (;;);']),
  );
  const endOthers = () => {
    for (const other of others) other.kill('SIGKILL');
  };
  t.teardown(endOthers);
  const { ranMs } = processorUse(Number(pid));
  await until(() => performance.now() - starving.sinceMs > 5000, 10_000);
  t.equal(starving.child.why, null, 'it lives after twice the time');
  const use = processorUse(Number(pid));
  t.ok(use.isRunnable && use.ranMs - ranMs < 2500, `it has waited: it ran for ${use.ranMs - ranMs} ms`);
  endOthers();
  writeFileSync(starving.file, '');
  await starving.child.loaded();
  process.kill(Number(pid), 'SIGSTOP');
  await starving.child.process.ended();
  t.match(starving.child.why, { signal: 'SIGKILL', wasHanging: true }, 'one that is stopped waits for no processor');
});

t.test('what it answers, each in its own way', async (t) => {
  const { process: child, said } = await new Child(t, ANSWERS).loaded();
  process.kill(child.pid!, 'SIGUSR2');
  const backup = () => child.requests.ask<string>((id) => child.send({ type: 'backup', id }));
  const handover: ToChild = { type: 'handover', hub: paths('second') };
  const all = [
    backup(),
    child.takeStep(7, 'listen', boot.source),
    child.requests.ask(() => child.send(handover), { key: 'released' }),
  ];
  t.same(await Promise.all(all), ['copy', undefined, null]);
  await t.rejects(child.takeStep(7, 'commit', boot.source), { message: 'no' });
  await t.rejects(backup(), { message: 'the disk is full' });
  t.same(said, [], 'nothing of it is for another process');
});

t.test('what it was asked and has not answered: it is late, or it has ended', async (t) => {
  const child = await new Child(t, REPEATS(MESSAGES_VERSION)).loaded();
  child.run();
  const { requests } = child.process;
  const ask = (timeoutMs: number) =>
    requests.ask<string>((id) => child.process.send({ type: 'backup', id }), { timeoutMs });
  await t.rejects(ask(5), { message: 'hub 1 did not answer within 5 ms' });
  const waits = ask(600_000);
  await until(() => child.said.length === 3, 10_000);
  child.process.kill();
  await t.rejects(waits, { message: 'the hub has ended in the meantime' });
});

t.test('one that is stopped before it has its work', async (t) => {
  const child = await new Child(t, REPEATS(MESSAGES_VERSION)).loaded();
  await child.process.stop(10_000);
  t.match(child.why, { signal: 'SIGKILL' });
});

t.test('one that cannot be started has ended, with why', async (t) => {
  const { execPath } = process;
  process.execPath = join(tempFolder(t), 'gone');
  const child = new Child(t, '');
  process.execPath = execPath;
  await t.rejects(child.process.said('standby'), /ENOENT/);
  t.match(child.why, { code: null, signal: null, reason: /^spawn .*ENOENT/ });

  // Node throws it.
  const other = new Child(t, '', 'with\0zero');
  t.equal(other.why, null, 'not at once');
  await t.rejects(other.process.said('standby'), /null bytes/);
  await other.process.stop(0);
});
