/** `airsplice init` as a person uses it: by options, by answers in a terminal; and what it writes, run by a real server with a real encoder. */

import { chmodSync, chownSync, copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { airsplice } from '../../kit/command-line.js';
import { ffmpegEncoder } from '../../kit/ffmpeg-encoder.js';
import { LIBRETIME } from '../../kit/icecast-files.js';
import { Player } from '../../kit/player.js';
import { freePort, PROGRAM, ServerProcess } from '../../kit/process.js';
import { missing, Program } from '../../kit/program.js';
import { DEMO_AUDIO } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';

/** Of what init has printed of a channel. */
function shown(out: string, what: RegExp): string {
  return what.exec(out)?.[1] ?? `nothing like ${what} in ${out}`;
}

const onAir = async (base: string, key: string): Promise<boolean> => {
  const answer = await (await fetch(`${base}/metadata/stations.json`)).text();
  return answer.includes(`"${key}"`);
};

t.test(
  'what it writes starts, and takes the encoder and the push that it names',
  { skip: missing('ffmpeg') },
  async (t) => {
    const folder = tempFolder(t);
    const path = join(folder, 'on air.yaml');
    const port = await freePort();
    const args = ['--station', 'Radio "Wäve": #1', '--channel', 'Jazz Café, 007', '--port', String(port)];
    const ran = await airsplice(['init', path, ...args, '--source', `encoder,${DEMO_AUDIO}`]);
    t.match(ran, { code: 0, err: '' });
    t.match(ran.out, /^ {2}start {3}(npx airsplice|node \S*\/main\.[jt]s) start '\//m, 'as it was called');
    t.equal(statSync(path).mode & 0o777, 0o600);
    const text = readFileSync(path, 'utf8');
    const token = shown(ran.out, /metapush\/jazz-cafe\/([\w-]+)\?/);
    const password = shown(ran.out, /mount \/jazz-cafe, user source, password ([\w-]+)$/m);
    for (const secret of [token, password]) {
      t.ok(Buffer.from(secret, 'base64url').length >= 16, '128 bits');
      t.notOk(text.includes(secret), 'the file has its digest');
    }
    t.match(text, /^# yaml-language-server: \$schema=\/.*airsplice\.schema\.json\n/);
    t.match(text, /^ +# What feeds the channel, best first/m);
    t.match(await airsplice(['check', path]), { code: 0, out: /2 channels of 1 station/ });

    const server = new ServerProcess(t, port, [path], {});
    await server.ready();
    t.ok(await onAir(server.base, 'jazz-cafe'));
    t.ok(await onAir(server.base, '007'));
    const pushed = await fetch(`${server.base}/metapush/jazz-cafe/${token}?song=One`);
    const login = `admin:${shown(ran.out, /user admin, password ([\w-]+)$/m)}`;
    const headers = { authorization: `Basic ${Buffer.from(login).toString('base64')}` };
    t.equal((await fetch(`${server.base}/admin/api/self`, { headers })).status, 200);
    t.equal(pushed.status, 200);
    const encoder = await ffmpegEncoder.start(t, { port, mount: '/jazz-cafe', password, sound: DEMO_AUDIO });
    await until(
      () => /"msg":"source changed".*encoder|encoder.*"msg":"source changed"/.test(server.err),
      20_000,
      () => server.err + encoder.said,
    );
    t.ok(statSync(join(folder, 'data', 'airsplice.mdb')).isFile(), 'its data are beside it');
    await server.end('SIGTERM');

    t.match(await airsplice(['init', path, '--yes']), {
      code: 1,
      out: '',
      err: /already exists: --force replaces it/,
    });
    t.equal(readFileSync(path, 'utf8'), text);
    t.match(await airsplice(['init', path, '--yes', '--force']), { code: 0 });
    t.not(readFileSync(path, 'utf8'), text);
    t.match(readFileSync(path, 'utf8'), /^ +live:\n +name: My Station$/m, 'a station that is one channel has one name');
  },
);

t.test('a service can read what root has put in the place of its configuration', async (t) => {
  const folder = tempFolder(t);
  const path = join(folder, 'airsplice.yaml');
  writeFileSync(path, '');
  chmodSync(path, 0o640);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(path, 0, 65_534);
  t.match(await airsplice(['init', path, '--yes', '--force']), { code: 0 });
  const { mode, uid, gid } = statSync(path);
  t.equal(mode & 0o777, 0o640);
  if (isRoot) t.strictSame([uid, gid], [0, 65_534]);
  t.ok(readFileSync(path, 'utf8').length > 0);
  t.strictSame(readdirSync(folder), ['airsplice.yaml'], 'nothing is left beside it');
});

t.test("Icecast's file: the old password at the old mount gets in", { skip: missing('ffmpeg') }, async (t) => {
  const folder = tempFolder(t);
  const [path, xml] = [join(folder, 'airsplice.yaml'), join(folder, 'icecast.xml')];
  const port = await freePort();
  writeFileSync(xml, LIBRETIME.replace('<hostname>', `<listen-socket><port>${port}</port></listen-socket><hostname>`));
  const ran = await airsplice(['init', path, '--from', xml]);
  t.equal(ran.code, 0);
  t.match(ran.err, /^note: <limits><sources> \(line \d+\): every channel may have its sources$/m);
  t.match(ran.out, /mount \/live\.ogg, user source, the same password as before$/m);
  t.notMatch(ran.out + ran.err + readFileSync(path, 'utf8'), /old-(source|relay|admin)-word/);
  t.match(await airsplice(['check', path]), { code: 0 });
  const server = new ServerProcess(t, port, [path], {});
  await server.ready();
  const wrong = await ffmpegEncoder.start(t, { port, mount: '/airtime_128', password: 'new-word', sound: DEMO_AUDIO });
  await until(() => wrong.ended !== undefined, 20_000);
  t.match(wrong.said, /401 Unauthorized/);
  const encoder = await ffmpegEncoder.start(t, {
    port,
    mount: '/airtime_128',
    password: 'old-source-word',
    sound: DEMO_AUDIO,
  });
  // Two fallbacks on: what comes in at /airtime_128 is heard at /stream.ogg.
  const player = new Player(port, '/stream.ogg');
  t.teardown(() => player.close());
  await until(
    () => player.audioBytes > 20_000,
    40_000,
    () => server.err.slice(-2000) + encoder.said,
  );
  t.equal(encoder.ended, undefined);

  t.match(await airsplice(['init', '--from', xml, '--port', '1']), {
    code: 2,
    err: /--port and --from cannot be combined/,
  });
  t.match(await airsplice(['init', '--from', path, join(folder, 'b.yaml')]), {
    code: 1,
    err: /neither an icecast\.xml/,
  });
});

t.test('what cannot be: a sentence, exit code 2, no file', async (t) => {
  const folder = tempFolder(t);
  const path = join(folder, 'a.yaml');
  writeFileSync(join(folder, 'jingle.mp3'), 'RIFF0000WAVEfmt ');
  const wrong: [readonly string[], RegExp][] = [
    [[], /no terminal to ask questions in/],
    [['--channel', '!'], /--channel: "!" needs letters from a to z or digits/],
    [['--channel', 'admin'], /--channel: \/admin is a path of the server itself/],
    [['--channel', 'One,One'], /--channel: two of these channels/],
    [['--station', `a\${HOME}`], /--station: a name cannot contain/],
    [['--port', '0'], /--port: a port is a whole number/],
    [['--public-url', '8000'], /--public-url: enter a URL such as/],
    [['--public-url', 'https://me:word@radio.example'], /--public-url: enter a URL without user/],
    [['--source', 'none.mp3'], /--source: no file .*none\.mp3/],
    [['--source', join(folder, 'jingle.mp3')], /--source: .* has no playable MP3.*WAV/],
    [['--source', 'encoder,encoder'], /--source: encoder may be listed only once/],
  ];
  for (const [args, words] of wrong) {
    const { code, out, err } = await airsplice(['init', path, ...(args.length > 0 ? ['--yes'] : []), ...args]);
    t.strictSame({ code, out }, { code: 2, out: '' }, args.join(' '));
    t.match(err, words);
  }
  t.throws(() => statSync(path), { code: 'ENOENT' });
  const nowhere = await airsplice(['init', join(folder, 'none', 'a.yaml')]);
  t.match(nowhere, {
    code: 1,
    out: '',
    err: /^airsplice: folder \S+none does not exist: create it first with mkdir -p \S+none\n$/,
  });
});

t.test('a file without end is read up to a length', { skip: process.platform !== 'linux' }, async (t) => {
  const folder = tempFolder(t);
  const [path, script] = [join(folder, 'made.yaml'), join(folder, 'radio.liq')];
  t.match(await airsplice(['init', path, '--from', '/dev/zero']), {
    code: 1,
    err: /^airsplice: \/dev\/zero cannot be used: it is longer than 4194304 bytes\n$/,
  });
  const call = 'output.icecast(mount="/a", password="a long word")\n';
  writeFileSync(script, call.padEnd(4_194_304, '\n'));
  t.equal((await airsplice(['init', path, '--from', script])).code, 0, 'as long as it may be');
  writeFileSync(script, call.padEnd(4_194_305, '\n'));
  t.match(await airsplice(['init', join(folder, 'other.yaml'), '--from', script]), { code: 1, err: /longer than/ });
});

t.test(
  'in a terminal: four questions, each asked again until it can be read',
  { skip: missing('script') },
  async (t) => {
    const folder = tempFolder(t);
    const path = join(folder, 'asked.yaml');
    copyFileSync(DEMO_AUDIO, join(folder, 'a.mp3'));
    const words = [process.execPath, ...PROGRAM, 'init', path].map((word) => `'${word}'`).join(' ');
    const program = new Program(t, 'script', ['-qec', words, '/dev/null'], {}, true);
    const answer = async (question: string, text: string) => {
      await program.until(() => program.said.includes(question), 20_000, `it does not ask ${question}`);
      program.said = '';
      program.child.stdin!.write(`${text}\r`);
    };
    await answer('Name of the station', 'Radio Wave');
    await answer('Its channels', 'admin');
    await answer('a path of the server itself', 'wave');
    await answer('Where listeners reach it', 'https://radio.example/');
    await answer('Where its audio comes from', join(folder, 'a.mp3'));
    await until(() => program.ended !== undefined, 20_000);
    t.equal(program.ended, 0);
    t.match(program.said, /hear +https:\/\/radio\.example\/wave/);
    const text = readFileSync(path, 'utf8');
    t.match(text, /publicUrl: https:\/\/radio\.example\n/);
    t.match(text, /roles: \[push, poll, watch, stream, encoder\]\n/);
    t.match(text, /path: a\.mp3\n/);

    const pasted = new Program(t, 'script', ['-qec', words.replace('asked', 'pasted'), '/dev/null'], {}, true);
    await pasted.until(() => pasted.said.includes('Name of the station'), 20_000, 'it does not ask');
    pasted.child.stdin!.write('Radio Wave\rwave\rhttps://radio.example/\rencoder\r');
    await until(() => pasted.ended !== undefined, 20_000);
    t.match(pasted.said, /hear +https:\/\/radio\.example\/wave/, 'answers that come in one go');

    const given = new Program(t, 'script', ['-qec', words.replace('asked', 'none'), '/dev/null'], {}, true);
    await given.until(() => given.said.includes('Name of the station'), 20_000, 'it does not ask');
    given.child.stdin!.write('\u0003');
    await until(() => given.ended !== undefined, 20_000);
    t.match(given.said, /cancelled: nothing was written/);
    t.equal(given.ended, 1);
  },
);
