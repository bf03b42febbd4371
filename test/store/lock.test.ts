/** The right of one process to a folder: many starters at once, real processes too; crashes; what other users of the machine can do. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, watch, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { lockFolder } from '../../src/store/lock.js';
import { asNobody, giveToNobody, isRoot } from '../kit/nobody.js';
import { TYPESCRIPT } from '../kit/process.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

t.test('one of many starters at once gets the folder, by any of its names', async (t) => {
  const folder = tempFolder(t);
  const data = join(folder, 'data');
  mkdirSync(data);
  symlinkSync(data, join(folder, 'link'), 'dir');
  const paths = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? data : join(folder, 'link', '.')));
  const outcomes = await Promise.allSettled(paths.map((path) => lockFolder(path)));
  const held = outcomes.filter((outcome) => outcome.status === 'fulfilled');
  t.equal(held.length, 1);
  t.match(outcomes.find((outcome) => outcome.status === 'rejected')?.reason, {
    message: /in use by another airsplice server/,
  });

  await held[0]!.value.release();
  await held[0]!.value.release();
  const next = await lockFolder(data);
  await t.rejects(lockFolder(data), 'an earlier release does not let go of a later lock');
  await next.release();
  await t.rejects(lockFolder(join(folder, 'missing')), { code: 'ENOENT' });
});

t.test('lock files in the folder', { skip: process.platform === 'win32' }, async (t) => {
  const folder = tempFolder(t);
  const lock = await lockFolder(folder);
  const refusals = await Promise.allSettled(Array.from({ length: 10 }, () => lockFolder(folder)));
  const words = new RegExp(`in use by another airsplice server \\(process ${process.pid}\\)$`);
  for (const outcome of refusals) t.match(outcome, { status: 'rejected', reason: { message: words } });
  await lock.release();
  t.same(readdirSync(folder), [], 'nothing stays behind');

  for (let round = 0; round < 40; round++) {
    const starters = await Promise.allSettled(Array.from({ length: 5 }, () => lockFolder(folder)));
    const held = starters.filter((outcome) => outcome.status === 'fulfilled');
    t.equal(held.length, 1, 'always one');
    await held[0]!.value.release();
  }

  // A socket file whose process is gone: bound, then closed by the system without being unlinked.
  const script = `require('node:net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;
  await once(spawn(process.execPath, ['-e', script, join(folder, 'lock-stale')], { stdio: 'ignore' }), 'close');
  t.same(readdirSync(folder), ['lock-stale']);
  const after = await lockFolder(folder);
  t.equal(readdirSync(folder).length, 1, 'the stale file is gone, ours is there');
  t.not(readdirSync(folder)[0], 'lock-stale');
  // A client that asks and does not close its end must not hold up the release.
  const held = connect({ path: join(folder, readdirSync(folder)[0]!), allowHalfOpen: true });
  await once(held, 'connect');
  await after.release();
  held.destroy();

  const other = createServer().listen(join(folder, 'lock-other'));
  await once(other, 'listening');
  await t.rejects(lockFolder(folder), { message: /in use by another airsplice server$/ }, 'one that says nothing');
  t.same(readdirSync(folder), ['lock-other'], 'a living one is left alone');
  other.close();
  // Another starter takes ours for dead while it looks at these.
  for (let i = 0; i < 5; i++) writeFileSync(join(folder, `lock-dead${i}`), '');
  const watcher = watch(folder, (_, name) => {
    if (!/dead|other/.test(name!)) rmSync(join(folder, name!), { force: true });
  });
  await t.rejects(lockFolder(folder), { message: /in use by another/ }, 'it gives way');
  watcher.close();
  t.same(readdirSync(folder), []);

  symlinkSync('lock-loop', join(folder, 'lock-loop'));
  await t.rejects(lockFolder(folder), { code: 'ELOOP' }, 'one that cannot be asked may be alive');
  t.same(readdirSync(folder), ['lock-loop'], 'and no file of this process stays behind');
});

t.test('a folder with a long path', { skip: process.platform !== 'linux' }, async (t) => {
  const folder = join(tempFolder(t), 'x'.repeat(120), 'y'.repeat(120));
  mkdirSync(folder, { recursive: true });
  const lock = await lockFolder(folder);
  t.match(readdirSync(folder), [/^lock-[0-9a-f]{8}$/]);
  await t.rejects(lockFolder(folder), { message: /in use by another/ });
  await lock.release();
  t.same(readdirSync(folder), []);
});

t.test(
  'of two starters the one whose name comes first waits for the other',
  { skip: process.platform === 'win32' },
  async (t) => {
    const folder = tempFolder(t);
    // The other one is starting; then it gives way, or it has the folder.
    for (const [name, ending] of [
      ['lock-zzzz', 'gone'],
      ['lock-zzzz', 'held'],
      ['lock-    ', 'gives way to none'],
    ] as const) {
      let hasFolder = false;
      const answer = () => `${JSON.stringify({ pid: 7, hasFolder })}\n`;
      const asked = new Promise<void>((resolve) => {
        const other = createServer((socket) => {
          socket.end(answer(), () => socket.destroy());
          if (ending === 'gone') other.close();
          hasFolder = ending === 'held';
          resolve();
        }).listen(join(folder, name));
        t.teardown(() => other.close());
      });
      const taken = lockFolder(folder).then(
        (lock) => lock.release().then(() => 'taken'),
        (error: Error) => error.message.replace(/^.* is/, 'is'),
      );
      await asked;
      t.equal(await taken, ending === 'gone' ? 'taken' : 'is in use by another airsplice server (process 7)', ending);
      rmSync(join(folder, name), { force: true });
    }
  },
);

t.test(
  'another user of the machine cannot take it',
  { skip: !isRoot && 'only root can be another user' },
  async (t) => {
    const folder = tempFolder(t);
    chmodSync(folder, 0o700);
    const { dev, ino } = statSync(folder, { bigint: true });
    // Names outside the folder are open to every user, such as the abstract socket of earlier versions.
    const script = `require('node:net').createServer().listen('\\0airsplice-${dev}:${ino}', () => console.log('listening'));
    require('node:net').createServer().on('error', ({ code }) => console.log(code)).listen('${join(folder, 'lock-a')}')`;
    const [setpriv, ...more] = asNobody;
    const stranger = spawn(setpriv!, [...more, process.execPath, '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.teardown(() => stranger.kill('SIGKILL'));
    let said = '';
    stranger.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await until(() => said.includes('listening') && said.includes('EACCES'), 10_000);
    const lock = await lockFolder(folder);
    await lock.release();
  },
);

t.test(
  'a lock that root has left in a folder of the service can be asked by its user, and by no other',
  { skip: !isRoot && 'only root can be another user' },
  async (t) => {
    const folder = tempFolder(t);
    giveToNobody(folder);
    // Another user may look into it, and not write.
    chmodSync(folder, 0o755);
    const lock = await lockFolder(folder);
    const path = join(folder, readdirSync(folder)[0]!);
    const script = `require('node:net').connect('${path}').on('error', ({ code }) => console.log(code)).on('data', (data) => console.log(String(data)))`;
    const asked = async ([command, ...args]: readonly string[]) =>
      (await promisify(execFile)(command!, [...args, process.execPath, '-e', script])).stdout;
    t.match(await asked(asNobody), /"hasFolder":true/);
    t.match(await asked(asNobody.map((word) => word.replace('65534', '65533'))), /EACCES/);
    await lock.release();
  },
);

/** A process that takes the folder and keeps it, or says why it cannot. */
class Process {
  readonly child;
  said = '';

  constructor(t: Test, folder: string) {
    const module = new URL('../../src/store/lock.ts', import.meta.url).href;
    const script = `const { lockFolder } = await import('${module}');
      setInterval(() => undefined, 1000);
      process.stdin.once('data', () => lockFolder(process.argv[1]).then(() => console.log('held'), ({ message }) => console.log(message)));
      console.log('ready');`;
    const argv = [...TYPESCRIPT, '--input-type=module', '-e', script, folder];
    this.child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
    t.teardown(() => this.child.kill('SIGKILL'));
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.said += text;
    });
  }
}

t.test(
  'processes that start at once: one has the folder, the others name it; after kill -9 the next ones start',
  async (t) => {
    const folder = tempFolder(t);
    for (let round = 0; round < 3; round++) {
      const processes = Array.from({ length: 4 }, () => new Process(t, folder));
      await until(() => processes.every(({ said }) => said.includes('ready')), 30_000);
      for (const { child } of processes) child.stdin.write('go\n');
      await until(() => processes.every(({ said }) => /held|in use/.test(said)), 10_000);
      const [held, ...more] = processes.filter(({ said }) => said.includes('held'));
      t.same(more, [], 'one');
      const words = `The folder ${folder} is in use by another airsplice server (process ${held?.child.pid})`;
      // One that gave way to another starter names that one.
      for (const { said } of processes) t.match(said, /held|in use by another airsplice server \(process \d+\)/);
      await t.rejects(lockFolder(folder), { message: words });
      for (const { child } of processes) child.kill('SIGKILL');
      await Promise.all(processes.map(({ child }) => once(child, 'close')));
      t.equal(readdirSync(folder).length, 1, 'what the crash left');
    }
    const lock = await lockFolder(folder);
    await lock.release();
    t.same(readdirSync(folder), []);
  },
);
