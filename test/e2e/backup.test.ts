/** `airsplice backup` while titles are pushed without a pause, and `restore`: what was accepted before the backup was asked for is there again. */

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { writeArchive } from '../../src/cli/backup/archive.js';
import { openLmdbStore } from '../../src/store/lmdb.js';
import { airsplice, runProgram } from '../kit/command-line.js';
import { freePort, PROGRAM, ServerProcess } from '../kit/process.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

interface Running {
  readonly server: ServerProcess;
  readonly folder: string;
  readonly config: string;
}

async function start(t: Test, workers: number, folder = tempFolder(t)): Promise<Running> {
  const config = join(folder, 'airsplice.yaml');
  const port = await freePort();
  const limits = 'limits: { pushesPerMinute: 1000000, pushBurst: 1000000 }';
  writeFileSync(config, `workers: ${workers}\n${limits}\n${demoYaml('', port)}`);
  const server = new ServerProcess(t, port, [config], { TMPDIR: folder });
  await server.ready();
  return { server, folder, config };
}

async function push(base: string, channel: string, song: string): Promise<boolean> {
  const url = `${base}/metapush/${channel}/${channel}-token?song=${song}&duration=1`;
  const answer = await fetch(url, { headers: { connection: 'close' } }).catch(() => undefined);
  await answer?.text();
  return answer?.status === 200;
}

/** Of a channel's history, and what is on air. */
async function songsOf(base: string, channel: string): Promise<Set<string>> {
  const answer = await fetch(`${base}/metadata/channel/${channel}/history.json?limit=1000`);
  const entries = (await answer.json()) as { readonly song?: string; readonly track?: { readonly song: string } }[];
  const text = JSON.stringify(entries);
  const now = await (await fetch(`${base}/metadata/channel/${channel}.json`)).text();
  return new Set([...`${text}${now}`.matchAll(/"song":"([^"]*)"/g)].map(([, song]) => song!));
}

for (const workers of [0, 2]) {
  const name = workers === 0 ? 'one process' : 'a hub and workers';
  t.test(`${name}: a backup under pushes, kill -9, restore`, async (t) => {
    const { server, folder, config } = await start(t, workers);
    const accepted: string[] = [];
    let isPushing = true;
    const pushing = Promise.all(
      ['demo', 'studio'].map(async (channel) => {
        for (let i = 0; isPushing; i++)
          if (await push(server.base, channel, `${channel}${i}`)) accepted.push(`${channel}${i}`);
      }),
    );
    await until(() => accepted.length > 20, 30_000);
    const before = [...accepted];
    const file = join(folder, 'one.backup');
    const ran = await airsplice(['backup', file, '--config', config]);
    t.match(ran, { code: 0, err: '', out: /contains .*airsplice\.yaml and the store in .*data \(\d+ bytes\)/ });
    await until(
      () => accepted.length > before.length + 5,
      30_000,
      () => 'pushes go on',
    );
    isPushing = false;
    await pushing;
    t.equal(statSync(file).mode & 0o777, 0o600);
    t.strictSame(
      readdirSync(join(folder, 'data')).filter((each) => each.includes('backup')),
      [],
      'nothing is left in the data folder',
    );
    t.strictSame(execFileSync('tar', ['tf', file], { encoding: 'utf8' }).trim().split('\n'), [
      'manifest.json',
      'airsplice.yaml',
      'airsplice.mdb',
    ]);
    t.match(await airsplice(['backup', file, '--config', config]), { code: 1, err: /already exists/ });
    t.match(await airsplice(['restore', file, '--config', config, '--force']), {
      code: 1,
      err: /was not restored: .* is in use by another airsplice server/,
    });

    await server.end('SIGKILL');
    const elsewhere = tempFolder(t);
    const [moved, data] = [join(elsewhere, 'airsplice.yaml'), join(elsewhere, 'data')];
    const restored = async () => {
      const again = await airsplice(['restore', file, '--config', moved]);
      return again;
    };
    await until(async () => (await restored()).code === 0 || existsSync(moved), 20_000);
    t.equal(readFileSync(moved, 'utf8'), readFileSync(config, 'utf8'));
    t.ok(existsSync(join(data, 'airsplice.mdb')));
    t.match(await restored(), { code: 1, err: /airsplice\.mdb already exists: --force replaces/ });
    const second = new ServerProcess(t, server.port, [moved], { TMPDIR: elsewhere });
    await second.ready();
    const songs = new Set([...(await songsOf(second.base, 'demo')), ...(await songsOf(second.base, 'studio'))]);
    t.strictSame(
      before.filter((song) => !songs.has(song)),
      [],
      `all ${before.length} that were accepted before`,
    );
    await second.end('SIGTERM');
    t.match(await airsplice(['restore', file, '--config', moved, '--force']), { code: 0 });
  });
}

t.test(
  'of a stopped server; a file that is damaged, cut, of another format or none of ours changes nothing',
  async (t) => {
    const { server, folder, config } = await start(t, 0);
    t.ok(await push(server.base, 'demo', 'kept'));
    await server.end('SIGTERM');
    const file = join(folder, 'one.backup');
    t.match(await airsplice(['backup', file, '--config', config]), { code: 0 });
    const whole = readFileSync(file);
    const store = readFileSync(join(folder, 'data/airsplice.mdb'));
    const place = join(folder, 'restored.yaml');
    const refused = async (bytes: Buffer, words: RegExp, more: readonly string[] = []) => {
      const bad = join(folder, 'bad.backup');
      writeFileSync(bad, bytes);
      const data = join(folder, 'elsewhere');
      t.match(await airsplice(['restore', bad, '--config', place, '--data', data, ...more]), {
        code: 1,
        out: '',
        err: words,
      });
      t.notOk(existsSync(place), 'no configuration');
      t.strictSame(existsSync(data) ? readdirSync(data) : [], [], 'no store, and nothing half done');
    };
    const flipped = Buffer.from(whole);
    flipped[whole.length - 2000]! ^= 1;
    await refused(flipped, /it is damaged: the store does not match its manifest/);
    const config1 = Buffer.from(whole);
    config1[whole.indexOf('pushesPerMinute')]! ^= 1;
    await refused(config1, /it is damaged: its content does not match its manifest/);
    await refused(whole.subarray(0, whole.length - 5000), /damaged or truncated/);
    await refused(whole.subarray(0, 100), /is not an airsplice backup/);
    await refused(Buffer.from('hello'.repeat(1000)), /is not an airsplice backup/);
    await refused(
      Buffer.from(whole.toString('latin1').replace('"format": 1', '"format": 2'), 'latin1'),
      /has format 2, from airsplice .*: this version reads format 1/,
    );
    await refused(
      Buffer.from(whole.toString('latin1').replace('airsplice.mdb\0', '../../etc.mdb\0'), 'latin1'),
      /damaged/,
    );

    // Over what is there, only by force; another store does not get lost by a backup that is none.
    const restore = (...more: readonly string[]) => airsplice(['restore', file, '--config', config, ...more]);
    t.match(await restore(), { code: 1, err: /airsplice\.mdb already exists/ });
    writeFileSync(config, readFileSync(config, 'utf8').replace('name: Demo\n', 'name: Changed\n'));
    t.match(await restore(), {
      code: 1,
      err: /airsplice\.mdb and .*airsplice\.yaml already exist:/,
    });
    t.ok(readFileSync(join(folder, 'data/airsplice.mdb')).equals(store));
    // What a service could read before, it can read again, whoever restores.
    const isRoot = process.getuid?.() === 0;
    chmodSync(config, 0o640);
    if (isRoot) for (const path of [config, join(folder, 'data')]) chownSync(path, 65_534, 65_534);
    t.match(await restore('--force'), { code: 0, err: '' });
    t.match(readFileSync(config, 'utf8'), /name: Demo\n/);
    t.equal(statSync(config).mode & 0o777, 0o640);
    const owners = [config, join(folder, 'data/airsplice.mdb')].map((path) => statSync(path).uid);
    if (isRoot) t.strictSame(owners, [65_534, 65_534]);
    truncateSync(join(folder, 'data/airsplice.mdb'), 5000);
    t.match(await airsplice(['backup', join(folder, 'two.backup'), '--config', config]), { code: 1, err: /damaged/ });
    t.notOk(existsSync(join(folder, 'two.backup')));
    t.match(await airsplice(['backup', file, '--config', join(folder, 'none.yaml')]), {
      code: 2,
      err: /cannot be read/,
    });
  },
);

/** With digests that are right. @param more of its manifest */
function madeBackup(
  folder: string,
  store: Buffer,
  more: { readonly configPath?: string; readonly madeAt?: string },
  config = demoYaml(),
) {
  const [file, copy] = [join(folder, 'made.backup'), join(folder, 'made.mdb')];
  writeFileSync(copy, store);
  const target = openSync(file, 'w');
  const made = { airsplice: '1.0.0', madeAt: '2026-01-01T00:00:00Z', configPath: join(folder, 'a.yaml'), ...more };
  writeArchive(target, made, Buffer.from(config), copy);
  closeSync(target);
  return file;
}

t.test('a store that nobody can read, in a backup that is whole: nothing is left of it', async (t) => {
  const [folder, data] = [tempFolder(t), join(tempFolder(t), 'data')];
  const file = madeBackup(folder, Buffer.alloc(65_536, 7), {});
  const restored = () => airsplice(['restore', file, '--config', join(folder, 'a.yaml'), '--data', data]);
  t.match(await restored(), { code: 1, err: /was not restored: .* is damaged/ });
  t.notOk(existsSync(data), 'the folder that was made for it neither');
  mkdirSync(data);
  t.equal((await restored()).code, 1);
  t.strictSame(readdirSync(data), []);
});

async function emptyStore(folder: string): Promise<Buffer> {
  await (await openLmdbStore(folder)).close();
  return readFileSync(join(folder, 'airsplice.mdb'));
}

t.test(
  'a configuration of some thousand channels comes out of a backup; one too long for any makes none',
  async (t) => {
    const [folder, data] = [tempFolder(t), join(tempFolder(t), 'data')];
    const long = demoYaml() + `# ${'x'.repeat(97)}\n`.repeat(50_000);
    const file = madeBackup(folder, await emptyStore(tempFolder(t)), {}, long);
    const config = join(folder, 'a.yaml');
    t.match(await airsplice(['restore', file, '--config', config, '--data', data]), { code: 0 });
    t.ok(readFileSync(config).equals(Buffer.from(long)));
    t.throws(
      () => madeBackup(folder, Buffer.alloc(512), {}, 'x'.repeat(2 ** 26 + 1)),
      /the configuration is larger than a backup can be/,
    );
  },
);

t.test('a backup does not decide where it is put, by its manifest or its configuration', async (t) => {
  const folder = tempFolder(t);
  const [home, here] = [join(folder, 'home'), join(folder, 'here')];
  for (const each of [home, here]) mkdirSync(each);
  const keys = join(home, 'authorized_keys');
  writeFileSync(keys, 'mine\n');
  const store = await emptyStore(join(folder, 'store'));
  const run = (file: string, ...more: readonly string[]) =>
    runProgram('env', ['-C', here, process.execPath, ...PROGRAM, 'restore', file, ...more]);

  const named = madeBackup(folder, store, { configPath: keys });
  const first = await run(named, '--force');
  t.match(first, {
    code: 0,
    err: '',
    out: /restored .*here\/airsplice\.yaml and the store in .*here\/data from the backup of .*home\/auth/,
  });
  t.equal(readFileSync(keys, 'utf8'), 'mine\n');
  t.strictSame(readdirSync(here).sort(), ['airsplice.yaml', 'data']);
  t.strictSame(readdirSync(join(here, 'data')), ['airsplice.mdb']);

  for (const elsewhere of [join(home, '.ssh'), '../home/.ssh', `\${HOME}/.ssh`]) {
    const config = `data: { folder: "${elsewhere}" }\naccessLog: { file: ../home/log }\n${demoYaml()}`;
    const file = madeBackup(folder, store, {}, config);
    const other = join(here, 'other.yaml');
    const refused = await run(file, '--config', other, '--force');
    t.match(refused, { code: 1, out: '' }, elsewhere);
    t.match(
      refused.err,
      /^airsplice: .* was not restored: its configuration names the data folder .*\/\.ssh: --data .* puts the store there/,
    );
    t.strictSame([readdirSync(home), existsSync(other)], [['authorized_keys'], false], 'nothing was made');
    // With --data it is allowed, and the other places where the server will write are shown.
    const asked = await run(file, '--config', other, '--data', 'data', '--force');
    t.match(asked, {
      code: 0,
      err: /^note: .* writes an access log to .*home\/log\nnote: .* names the data folder .*\.ssh, but .*\n$/,
    });
    rmSync(other);
  }

  // The folder of the configuration that is there already is the operator's own.
  const own = join(folder, 'own');
  const config = `data: { folder: ${own} }\n${demoYaml()}`;
  writeFileSync(join(here, 'own.yaml'), `data: { folder: ../own }\n`);
  t.match(await run(madeBackup(folder, store, {}, config), '--config', 'own.yaml', '--force'), { code: 0, err: '' });
  t.ok(existsSync(join(own, 'airsplice.mdb')));
  const unread = madeBackup(folder, store, {}, 'data: [');
  t.match(await run(unread, '--config', 'new.yaml'), {
    code: 1,
    err: /does not name its data folder: name it with --data FOLDER/,
  });
});

t.test('names that are there already lead nowhere', async (t) => {
  const folder = tempFolder(t);
  const [victim, data] = [join(folder, 'victim'), join(folder, 'data')];
  const store = await emptyStore(join(folder, 'store'));
  for (const each of [victim, data]) mkdirSync(each);
  writeFileSync(join(victim, 'kept'), 'kept');
  const config = join(folder, 'a.yaml');
  symlinkSync(victim, join(data, 'restoring'));
  symlinkSync(join(victim, 'kept'), `${config}.restored`);
  symlinkSync(join(victim, 'kept'), config);
  symlinkSync(join(victim, 'kept'), join(data, 'airsplice.mdb'));
  const file = madeBackup(folder, store, {});
  t.match(await airsplice(['restore', file, '--config', config, '--force']), { code: 0, err: '' });
  t.strictSame(readdirSync(victim), ['kept']);
  t.equal(readFileSync(join(victim, 'kept'), 'utf8'), 'kept');
  t.strictSame(
    [config, join(data, 'airsplice.mdb')].map((path) => lstatSync(path).isFile()),
    [true, true],
  );
  t.strictSame(readdirSync(data), ['airsplice.mdb']);
});

t.test('a manifest says nothing that a terminal obeys', async (t) => {
  const folder = tempFolder(t);
  const data = join(folder, 'data');
  const store = await emptyStore(data);
  const configPath = join(folder, 'a\u001b[2J\u009b31m\u202eb.yaml');
  const file = madeBackup(folder, store, { configPath, madeAt: 'then\u001b]0;title\u0007' });
  const restored = (...more: readonly string[]) =>
    airsplice(['restore', file, '--config', join(folder, 'c.yaml'), ...more]);
  const hostile = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/;
  const { code, out } = await restored('--force');
  t.equal(code, 0);
  t.match(out, /restored .*c\.yaml and the store in .* from the backup of .*b\.yaml made at then.*\n$/);
  t.notMatch(out, hostile);
  const config = `data: { folder: "x\\e[2J\\u202e" }\n${demoYaml()}`;
  madeBackup(folder, store, { configPath }, config);
  const { err } = await restored();
  t.match(err, /its configuration names the data folder .*x/);
  t.notMatch(err, hostile);
});

t.test('the control socket: a line in, a line out, for its own user', async (t) => {
  const { server, folder } = await start(t, 0);
  const path = join(folder, 'data/control.sock');
  t.equal(statSync(path).mode & 0o777, 0o600);
  const ask = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = net.connect(path);
      let answer = '';
      socket.on('data', (chunk) => {
        answer += chunk;
      });
      socket.once('error', reject).once('close', () => resolve(answer));
      socket.write(text);
    });
  t.same(JSON.parse(await ask('restart\n')), { refused: 'without workers there are no processes to replace' });
  t.same(JSON.parse(await ask('toString\n')), { refused: 'this server has no command "toString"' });
  t.match(await ask('x'.repeat(5000)), /this server has no command \\"x{64}\\"/);
  t.match(await ask('backup\n'), /^\{"done":"airsplice-backup-[0-9a-f]{8}\.mdb"\}\n$/);
  await server.end('SIGTERM');
  t.notOk(existsSync(path), 'it goes with the server');
});
