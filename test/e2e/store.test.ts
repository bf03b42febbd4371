/** The disk's faults, with the server as its own process: full, read-only, truncated, scribbled over. Words, never a signal's death. */

import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isLong } from '../kit/long.js';
import { asNobody, giveToNobody, isRoot } from '../kit/nobody.js';
import { Player } from '../kit/player.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { Random } from '../kit/random.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { Watching } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const FILE = 'airsplice.mdb';

function configIn(folder: string, port: number, extra = ''): string {
  const path = join(folder, 'config.yaml');
  writeFileSync(path, `data: { folder: ${join(folder, 'data')} }\n${demoYaml(extra, port)}`);
  return path;
}

const push = (base: string, song: string) => fetch(`${base}/metapush/demo/demo-token?song=${song}`);

const statusOf = async (url: string) => (await fetch(url)).status;
const metrics = async (base: string) => (await fetch(`${base}/metrics`)).text();

async function song(base: string): Promise<string> {
  return ((await (await fetch(`${base}/metadata/channel/demo.json`)).json()) as { song: string }).song;
}

/** Runs a server on this folder that must not come up; gives what it said. */
async function refusal(t: Test, folder: string, why: string, launcher: readonly string[] = []): Promise<string> {
  const server = new ServerProcess(t, 0, [configIn(folder, 0)], {}, launcher);
  await until(
    () => server.ended !== undefined,
    20_000,
    () => `${why}: it runs. ${server.err}`,
  );
  t.equal(server.ended, 1, `${why}: ${server.err}`);
  t.match(server.err, /^airsplice: cannot start: /, why);
  t.notMatch(server.err, /^\s+at .*:\d+:\d+/m, `${why}: words, no stack`);
  return server.err;
}

/** Commands that mount a file system of their own for the server, gone with it; `$D` is the data folder. */
function mounted(folder: string, mount: string): string[] {
  const unshare = isRoot ? ['unshare', '-m'] : ['unshare', '-rm'];
  return [...unshare, 'sh', '-c', `D='${join(folder, 'data')}'; { ${mount}; } || exit 9; exec "$0" "$@"`];
}

/** A folder with a store in it that some pushes have been written to. */
async function used(t: Test, folder: string): Promise<string> {
  const port = await freePort();
  const server = new ServerProcess(t, port, [configIn(folder, port)], {});
  await server.ready();
  for (let i = 0; i < 30; i++) {
    const body = JSON.stringify({ song: `s${i}`, artist: '', duration: 1, extdata: { x: 'y'.repeat(300 * i) } });
    const post = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body };
    const channel = i % 2 === 0 ? 'demo' : 'studio';
    t.equal((await fetch(`${server.base}/metapush/${channel}/${channel}-token`, post)).status, 200);
  }
  await server.end('SIGTERM');
  t.equal(server.ended, 0, server.err);
  return join(folder, 'data', FILE);
}

t.test('a full disk: 503, nothing is published, and pushes work again when there is space', async (t) => {
  const folder = tempFolder(t);
  mkdirSync(join(folder, 'data'));
  const port = await freePort();
  const launcher = mounted(folder, 'mount -t tmpfs -o size=12m tmpfs "$D"');
  // Two pushes may come, and no more: those that are answered 503 must not count.
  const config = configIn(folder, port, 'limits: { pushesPerMinute: 1, pushBurst: 2 }');
  const server = new ServerProcess(t, port, [config], {}, launcher);
  await server.ready().catch((error: Error) => {
    if (server.ended === undefined || server.ended === 1) throw error;
  });
  if (server.ended !== undefined) return t.plan(0, 'a file system cannot be mounted here');

  t.equal((await push(server.base, 'before')).status, 200);
  const watching = await new Watching(t, `ws://127.0.0.1:${port}/metadata/channel/demo`).has(1);
  // Seen from here through /proc: all that the disk can hold.
  const filler = join(`/proc/${server.child.pid}/root`, folder, 'data', 'filler');
  t.throws(() => writeFileSync(filler, Buffer.alloc(16 * 1024 * 1024)), { code: 'ENOSPC' });
  for (let i = 0; i < 5; i++) {
    const answer = await push(server.base, `full${i}`);
    t.equal(answer.status, 503);
    t.ok(Number(answer.headers.get('retry-after')) > 0);
    t.match(await answer.json(), { type: 'urn:airsplice:problem:unavailable', status: 503 });
  }
  t.equal(await song(server.base), 'before');
  t.equal((await fetch(`${server.base}/metadata/channel/demo.json?type=next`)).status, 204);
  t.equal((await fetch(`${server.base}/healthz`)).status, 200);
  t.equal(await statusOf(`${server.base}/readyz`), 503);
  t.match(await metrics(server.base), /^airsplice_store_fault 1$/m);
  await until(() => /cannot be used: titles are refused/.test(server.err), 5000);

  rmSync(filler);
  t.equal(await statusOf(`${server.base}/readyz`), 200);
  t.match(await metrics(server.base), /^airsplice_store_fault 0$/m);
  t.equal((await push(server.base, 'after')).status, 200);
  await until(() => /can be used again/.test(server.err), 5000);
  t.equal(await song(server.base), 'after');
  await watching.has(2);
  t.same(watching.songs, ['now before', 'now after'], 'readers saw nothing of the refused ones');
  t.match(server.err, /"fault":"the disk of .* is full"/, 'the log says why');
  for (const words of [/titles are refused/g, /can be used again/g])
    t.equal(server.err.match(words)?.length, 1, 'once');
  await server.end('SIGTERM');
  t.equal(server.ended, 0, server.err);
});

t.test(
  'the data folder is replaced while the server runs: 503 and one clear line, never a 200 that is lost',
  async (t) => {
    const folder = tempFolder(t);
    const data = join(folder, 'data');
    const port = await freePort();
    const server = new ServerProcess(t, port, [configIn(folder, port)], {});
    await server.ready();
    t.equal((await push(server.base, 'before')).status, 200);

    renameSync(data, `${data}.away`);
    for (let i = 0; i < 5; i++) t.equal((await push(server.base, `away${i}`)).status, 503);
    t.equal(await statusOf(`${server.base}/readyz`), 503);
    t.equal(await statusOf(`${server.base}/healthz`), 200);
    await until(() => /cannot be used: titles are refused/.test(server.err), 5000);
    t.match(server.err, /airsplice\.mdb is gone: put it back, or restart/);
    renameSync(`${data}.away`, data);
    t.equal((await push(server.base, 'back')).status, 200, 'the same file: without a restart');
    t.equal(await statusOf(`${server.base}/readyz`), 200);
    await until(() => /can be used again/.test(server.err), 5000);

    rmSync(data, { recursive: true });
    mkdirSync(data);
    // As an operator would who puts an older copy there.
    writeFileSync(join(data, FILE), 'another file');
    for (let i = 0; i < 5; i++) t.equal((await push(server.base, `replaced${i}`)).status, 503);
    t.equal(await statusOf(`${server.base}/readyz`), 503);
    await until(() => server.err.match(/cannot be used: titles are refused/g)?.length === 2, 5000);
    t.match(server.err, /airsplice\.mdb was replaced by another file/);
    t.equal(await song(server.base), 'back');
    const history = (await (await fetch(`${server.base}/metadata/channel/demo/history.json`)).json()) as {
      song: string;
    }[];
    t.same(
      history.map((entry) => entry.song),
      ['back', 'before'],
    );
    await server.end('SIGTERM');
    t.equal(server.ended, 0, server.err);
  },
);

t.test(
  'the data folder cannot be looked at while the server runs: 503, streams go on, and it comes back',
  async (t) => {
    const folder = tempFolder(t);
    const data = join(folder, 'data');
    const port = await freePort();
    const server = new ServerProcess(t, port, [configIn(folder, port)], {});
    await server.ready();
    t.equal((await push(server.base, 'before')).status, 200);
    const player = new Player(port, '/demo.mp3');
    t.teardown(() => player.socket.destroy());

    renameSync(data, `${data}.away`);
    // What a detached disk, a server of files that hiccups or a removed right is to the one who asks, and so for root too.
    symlinkSync(data, data);
    const why = /airsplice\.mdb cannot be checked \(ELOOP\)/;
    await until(
      () => why.test(server.err) || server.ended !== undefined,
      5000,
      () => server.err,
    );
    t.equal(await statusOf(`${server.base}/readyz`), 503);
    t.equal(await statusOf(`${server.base}/healthz`), 200);
    for (let i = 0; i < 5; i++) t.equal((await push(server.base, `away${i}`)).status, 503);
    const heard = player.audioBytes;
    await until(() => player.audioBytes > heard + 32_000, 10_000);
    t.equal(await song(server.base), 'before');

    rmSync(data);
    renameSync(`${data}.away`, data);
    t.equal((await push(server.base, 'back')).status, 200);
    t.equal(await statusOf(`${server.base}/readyz`), 200);
    await until(() => /can be used again/.test(server.err), 5000);
    t.notOk(player.closed, 'the same stream all the time');
    await server.end('SIGTERM');
    t.equal(server.ended, 0, server.err);
  },
);

t.test('a store cut to nothing is refused, one that is gone begins anew and says so', async (t) => {
  const folder = tempFolder(t);
  const file = await used(t, folder);
  const whole = readFileSync(file);
  writeFileSync(file, '');
  t.match(await refusal(t, folder, 'empty'), /airsplice\.mdb is empty.*restore a copy, or remove it to start empty/);
  t.equal(statSync(file).size, 0, 'it was not touched');
  const port = await freePort();
  for (const [why, words] of [
    ['gone', /airsplice\.mdb is gone: starting with a new/],
    ['first', /^(?!.*is gone)/],
  ] as const) {
    if (why === 'gone') rmSync(file);
    else rmSync(join(folder, 'data'), { recursive: true });
    const server = new ServerProcess(t, port, [configIn(folder, port)], {});
    await server.ready();
    t.match(server.err, words, why);
    t.equal(await statusOf(`${server.base}/metadata/channel/demo.json`), 204);
    t.equal((await push(server.base, why)).status, 200);
    await server.end('SIGTERM');
  }
  writeFileSync(file, whole);
  const server = new ServerProcess(t, port, [configIn(folder, port)], {});
  await server.ready();
  t.equal(await song(server.base), 's28');
  await server.end('SIGTERM');
});

t.test('the folder becomes read-only while the server runs: what is answered is there afterwards', async (t) => {
  const folder = tempFolder(t);
  const data = join(folder, 'data');
  mkdirSync(data);
  const port = await freePort();
  const config = configIn(folder, port);
  if (isRoot) {
    if (missing('setpriv')) return t.plan(0, 'no setpriv here');
    giveToNobody(data);
    chmodSync(folder, 0o755);
    const probe = new ServerProcess(t, 0, ['--help'], {}, asNobody);
    await until(() => probe.ended !== undefined, 20_000);
    if (probe.ended !== 0) return t.plan(0, 'no other user may run the server here');
  }
  let server = new ServerProcess(t, port, [config], {}, asNobody);
  await server.ready();
  const file = join(data, FILE);
  chmodSync(file, 0o400);
  chmodSync(data, 0o500);
  const { status } = await push(server.base, 'kept');
  await server.end('SIGKILL');
  const refused = new ServerProcess(t, port, [config], {}, asNobody);
  await until(() => refused.ended !== undefined, 20_000);
  t.equal(refused.ended, 1, refused.err);
  t.match(refused.err, /cannot be read and written \(EACCES\)/);
  chmodSync(data, 0o700);
  chmodSync(file, 0o600);
  server = new ServerProcess(t, port, [config], {}, asNobody);
  await server.ready();
  t.equal(status, 200, 'the file was opened before');
  t.equal(await song(server.base), 'kept');
  await server.end('SIGTERM');
});

t.test('a folder that can only be read: a refusal to start', async (t) => {
  const folder = tempFolder(t);
  const file = await used(t, folder);
  const data = join(folder, 'data');
  const readOnly = 'mount --bind "$D" "$D" && mount -o remount,bind,ro "$D"';
  const probe = new ServerProcess(t, 0, ['--help'], {}, mounted(folder, readOnly));
  await until(() => probe.ended !== undefined, 20_000);
  if (probe.ended === 0) {
    const said = await refusal(t, folder, 'read-only mount', mounted(folder, readOnly));
    t.match(said, new RegExp(`${data} cannot be read and written \\(EROFS\\)`));
  } else t.pass('read-only mount', { skip: 'a file system cannot be mounted here' });

  if (isRoot) t.pass('read-only file and folder', { skip: 'root may write everywhere' });
  else {
    chmodSync(file, 0o400);
    t.match(await refusal(t, folder, 'read-only file'), /airsplice\.mdb cannot be read and written \(EACCES\)/);
    chmodSync(data, 0o500);
    t.match(await refusal(t, folder, 'read-only folder'), /data cannot be read and written \(EACCES\)/);
    chmodSync(data, 0o700);
    chmodSync(file, 0o600);
  }
  rmSync(data, { recursive: true });
  writeFileSync(data, 'a file where the folder should be');
  t.match(await refusal(t, folder, 'no folder'), /EEXIST|ENOTDIR/);
});

t.test('truncated or scribbled over: a refusal with words, or a server that works', async (t) => {
  const random = new Random();
  const folder = tempFolder(t);
  const file = await used(t, folder);
  const whole = readFileSync(file);
  const pages = Math.floor(whole.length / 4096);

  const noise = Buffer.concat([random.bytes(2 * 4096), whole.subarray(2 * 4096)]);
  const cases: [why: string, bytes: Buffer][] = [
    ['cut within a page', whole.subarray(0, 100)],
    ['cut in half', whole.subarray(0, whole.length >> 1)],
    ['no store at all', Buffer.from('this is a shopping list\n'.repeat(1000))],
    ['both roots scribbled over', noise],
  ];
  await Promise.all(
    cases.map(async ([why, bytes]) => {
      const other = tempFolder(t);
      mkdirSync(join(other, 'data'));
      writeFileSync(join(other, 'data', FILE), bytes);
      t.match(await refusal(t, other, why), /airsplice\.mdb is damaged \(.*move it away to start empty/);
    }),
  );

  for (let round = 0; round < (isLong ? 20 : 3); round++) {
    const at = random.int(0, pages - 1) * 4096;
    const why = `seed ${random.seed}, round ${round}, page ${at / 4096} of ${pages}`;
    const scribbled = Buffer.from(whole);
    random.bytes(random.chance(0.5) ? 4096 : 64).copy(scribbled, at);
    writeFileSync(file, scribbled);
    const port = await freePort();
    const server = new ServerProcess(t, port, [configIn(folder, port)], {});
    // A page that is never read does no harm.
    await server.ready().catch(() => undefined);
    if (server.ended === undefined) {
      let last = '';
      for (let i = 0; i < 20; i++) {
        const { status } = await push(server.base, `r${i}`).catch((cause: unknown) => {
          throw new Error(`${why}: ended with ${server.ended}, ${server.err}`, { cause });
        });
        if (status === 200) last = `r${i}`;
        else t.equal(status, 503, why);
        t.equal(await song(server.base), last || 's28', why);
      }
      if (last !== 'r19') t.match(server.err, /cannot be saved/, 'the log says so');
      await server.end('SIGTERM');
      t.equal(server.ended, 0, `${why}: ${server.err}`);
    } else {
      t.equal(server.ended, 1, `${why}: ${server.err}`);
      t.match(server.err, /^airsplice: cannot start: .*(damaged|cannot be read)/, why);
    }
  }
  writeFileSync(file, whole);
  const port = await freePort();
  const server = new ServerProcess(t, port, [configIn(folder, port)], {});
  await server.ready();
  t.equal(await song(server.base), 's28', 'the copy put in its place has what was pushed');
  await server.end('SIGTERM');
});
