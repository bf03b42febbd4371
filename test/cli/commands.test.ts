/** The command line as a person or a shell uses it: what each command says, takes and refuses, beside a real server. */

import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { COMMANDS } from '../../src/cli/commands.js';
import { airsplice } from '../kit/command-line.js';
import { PROGRAM } from '../kit/process.js';
import { Program } from '../kit/program.js';
import { DEMO_AUDIO, demoYaml, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

t.test('help names every command, and of each what it takes', async (t) => {
  const overviews = await Promise.all([airsplice(['help']), airsplice(['--help']), airsplice(['-h'])]);
  for (const { code, out } of overviews) {
    t.equal(code, 0);
    for (const { name } of COMMANDS) t.match(out, new RegExp(`^  ${name} `, 'm'));
  }
  const [asked, option, start] = await Promise.all([
    airsplice(['help', 'watch']),
    airsplice(['watch', '--help']),
    airsplice(['start', '-h']),
  ]);
  t.match(asked.out, /^usage: (?:npx airsplice|node \S+) watch \[--station STATION\].* \[CHANNEL\]$/m);
  t.match(asked.out, /^ {2}--count N +Stops after this many changes\.$/m);
  t.equal(option.out, asked.out);
  t.match(start.out, /^ {2}-p, --port PORT +Overrides/m);
});

t.test('its version', async (t) => {
  for (const word of ['version', '--version']) {
    t.match(await airsplice([word]), { code: 0, out: /^airsplice \d+\.\d+\.\d+ \(Node\.js \d+\.\d+\.\d+\)\n$/ });
  }
});

t.test('a wrong command line: what is wrong, the usage, exit code 2, nothing on standard output', async (t) => {
  const wrong: [readonly string[], RegExp][] = [
    [['help', 'nothing'], /unknown command "nothing"\nusage: (?:npx airsplice|node \S+) help/],
    [['help', 'satus'], /unknown command "satus"; did you mean status\?\nusage/],
    [['nothing'], /no such command or file: "nothing"\nusage: (?:npx airsplice|node \S+) start/],
    [['satus'], /no such command or file: "satus"; did you mean status\?\n/],
    [['relode', '--restart', 'a.yaml'], /no such command or file: "relode"; did you mean reload\?\n/],
    [['check', '--dfif', 'x'], /Unknown option '--dfif'; did you mean --diff\?\n/],
    [['start', '--port', '1.5'], /--port must be a whole number\nusage/],
    [['start', '--log-level', 'loud'], /--log-level must be one of: fatal, error, warn, info, debug, silent\nusage/],
    [['start', 'a.yaml', 'b.yaml'], /"b\.yaml" is one argument too many\nusage/],
    [['check'], /an argument is missing\nusage: (?:npx airsplice|node \S+) check \[--diff\] CONFIG/],
    [['check', '--loud', 'x'], /Unknown option '--loud'\nusage/],
    [['completion', 'toString'], /SHELL must be one of: bash, zsh, fish\nusage/],
    [['watch'], /give a channel or --station/],
    [['watch', 'demo', '--station', 'demo'], /not both/],
    [['watch', 'de/mo'], /a key is 1 to 64/],
    [['watch', 'demo', '--count', '0'], /--count must be a number from 1/],
    [['watch', 'demo', '--count', '1.5'], /--count must be a whole number from 1/],
    [['watch', 'demo', '--url', 'ftp://x'], /--url must be/],
    [['push', 'demo'], /--artist or --song is required/],
    [['push', 'demo', '--song', 'x'], /AIRSPLICE_TOKEN is not set/],
    [['push', 'dé', '--song', 'x'], /a channel key is/],
  ];
  for (const [args, words] of wrong) {
    const { code, out, err } = await airsplice(args, { AIRSPLICE_TOKEN: '' });
    t.strictSame({ code, out }, { code: 2, out: '' }, args.join(' '));
    t.match(err, words);
  }
});

t.test('check: what a configuration makes, or each problem with its place and what was meant', async (t) => {
  const folder = tempFolder(t);
  const [good, bad] = [join(folder, 'good.yaml'), join(folder, 'bad.yaml')];
  writeFileSync(good, demoYaml('', 8123));
  writeFileSync(join(folder, 'jingle.mp3'), 'RIFF0000WAVEfmt ');
  writeFileSync(
    bad,
    `adresses: []
streams: { burst: 3, lagSecond: 4, nothingLikeIt: 5 }
stations: { s: { naem: x, channels: { c: { pushTokens: [env:UNSET_TOKEN], sources: [{ type: encoder, passwort: x }, { type: file, path: jingle.mp3 }] } } } }
`,
  );
  const valid = await airsplice(['check', good]);
  t.match(valid, { code: 0, err: '' });
  t.match(valid.out, /good\.yaml is valid: \d channels of 1 station at http:\/\/127\.0\.0\.1:8123, one process\n$/);
  const shared = join(folder, 'shared.yaml');
  const cluster = "cluster: { node: a, tapes: { host: 127.0.0.1, port: 8124, secret: 'env:CLUSTER' } }";
  writeFileSync(shared, `${demoYaml('', 8123)}\n${cluster}\n`);
  const ofMany = await airsplice(['check', shared], { CLUSTER: 'a secret that all machines know, really' });
  t.match(ofMany.out, /, a hub and 1 worker\n$/, 'what shares audio has a worker');
  t.notMatch(ofMany.out, /each cuts its own segments/);
  const apart = join(folder, 'apart.yaml');
  const hls = 'streams: { hls: { enabled: true } }';
  writeFileSync(apart, `${demoYaml(hls, 8123)}\ncluster: { node: a, url: 'redis://127.0.0.1:6379' }\n`);
  t.match(await airsplice(['check', apart]), {
    code: 0,
    out: /\nstreams\.hls: machines share no audio .*each cuts its own segments/,
  });
  const differing = join(folder, 'differing.yaml');
  // Frames of 384 bytes, silent.
  const frame = Buffer.concat([Buffer.from([0xff, 0xfb, 0x94, 0xc0]), Buffer.alloc(380)]);
  writeFileSync(join(folder, 'mono48.mp3'), Buffer.concat([frame, frame, frame]));
  const files = (...paths: string[]) => `sources: [${paths.map((path) => `{ type: file, path: ${path} }`).join(', ')}]`;
  writeFileSync(
    differing,
    `stations: { s: { channels: { one: { ${files(DEMO_AUDIO, 'mono48.mp3')} }, other: { ${files(DEMO_AUDIO, DEMO_AUDIO)} } } } }`,
  );
  const { code: usable, out: said } = await airsplice(['check', differing]);
  t.equal(usable, 0);
  t.match(
    said,
    /stations\.s\.channels\.one: its files differ in format: .*airsplice\.mp3 \(MP3, 44\.1 kHz, stereo\), .*mono48\.mp3 \(MP3, 48 kHz, mono\)\. /,
  );
  t.notMatch(said, /channels\.other/);
  const { code, err } = await airsplice(['check', bad]);
  t.equal(code, 2);
  for (const line of [
    'bad.yaml:1:1: adresses: is not an option; did you mean addresses?',
    'bad.yaml:2:12: streams.burst: is not an option; did you mean burstSeconds?',
    'bad.yaml:2:22: streams.lagSecond: is not an option; did you mean lagSeconds?',
    'bad.yaml:3:18: stations.s.naem: is not an option; did you mean name?',
    'bad.yaml:2:36: streams.nothingLikeIt: is not an option\n',
    'pushTokens[0]: UNSET_TOKEN is not set',
    'sources[1].path: has no playable MP3, AAC (ADTS) or Ogg audio (it looks like WAV)',
    'sources[0].passwort: is not an option; did you mean password?',
  ])
    t.ok(err.includes(line), `${line} in ${err}`);
  t.match(err, /airsplice: \d+ problems\n$/);
  t.match(await airsplice(['check', join(folder, 'none.yaml')]), { code: 2, err: /cannot be read \(ENOENT\)/ });
});

t.test('push and watch, beside a server', async (t) => {
  const { base } = await startServer(t, demoYaml());
  const env = { AIRSPLICE_TOKEN: 'demo-token' };
  const watching = new Program(t, process.execPath, [
    ...PROGRAM,
    ...['watch', '--station', 'demo', '--count', '2', '--url', `${base}/`],
  ]);
  const push = (args: readonly string[], more: NodeJS.ProcessEnv = env) =>
    airsplice(['push', 'demo', '--url', base, ...args], more);
  const next = await push(['--artist', 'Miriam Makeba', '--song', 'Pata Pata', '--duration', '183', '--next']);
  t.strictSame(next, { code: 0, out: 'demo: Miriam Makeba - Pata Pata\n', err: '' });
  await watching.until(() => watching.said.includes('Pata'), 20_000, 'it says nothing');
  t.equal((await push(['--song', 'Só danço\u001b[2J samba'])).code, 0);
  await until(() => watching.ended !== undefined, 20_000);
  t.equal(watching.ended, 0);
  t.match(watching.said, /^\d\d:\d\d:\d\d {2}demo +next {2}Miriam Makeba - Pata Pata \(3:03\)\n/);
  t.match(watching.said, /^\d\d:\d\d:\d\d {2}demo +now {3}Só danço.* samba\n$/m);
  t.notOk(watching.said.includes('\u001b'), 'nothing moves the cursor');

  const json = await airsplice(['watch', 'demo', '--json', '--count', '1', '--url', base]);
  t.equal(JSON.parse(json.out).artist, 'Miriam Makeba', 'first what follows');

  const refused = await push(['--song', 'x', '--duration', 'long']);
  t.match(refused, { code: 1, out: '', err: /^airsplice: 422: .*\n {2}duration: / });
  t.match(await push(['--song', 'x'], { AIRSPLICE_TOKEN: 'wrong' }), { code: 1, err: /^airsplice: 403: / });
  t.match(await airsplice(['watch', 'none', '--url', base]), { code: 1, err: /answers 404 for the channel none\n$/ });
  const nobody = await airsplice(['watch', 'demo', '--url', 'http://127.0.0.1:9']);
  t.match(nobody, { code: 1, err: /^airsplice: the server at http:\/\/127\.0\.0\.1:9 cannot be reached: / });
});

t.test('what a server makes up moves no cursor', async (t) => {
  const server = createServer(({ method }, response) => {
    if (method === 'GET') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const record = { type: 'now\u0007', code: 'x\u001b[1m', rawdata: 'a\u001b[2Jb\u009b\u202e', duration: 0 };
      response.write(`data: ${JSON.stringify(record)}\n\n`);
      return;
    }
    response.writeHead(422);
    response.end(JSON.stringify({ detail: 'd\u001b[2J', errors: [{ field: 'f\u0007', message: 'm\u001b[2J' }] }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.closeAllConnections());
  t.teardown(() => server.close());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const watched = await airsplice(['watch', 'x', '--count', '1', '--url', base]);
  t.match(watched, { code: 0, out: /a \[2Jb \n$/ });
  const json = await airsplice(['watch', 'x', '--count', '1', '--json', '--url', base]);
  t.match(json, { code: 0, out: 'b\\u009b\\u202e"' });
  t.match(JSON.parse(json.out), { code: 'x\u001b[1m', rawdata: 'a\u001b[2Jb\u009b\u202e' });
  const pushed = await airsplice(['push', 'x', '--song', 'x', '--url', base], { AIRSPLICE_TOKEN: 'x' });
  t.match(pushed, { code: 1, err: /^airsplice: 422: d \[2J\n {2}f : m \[2J\n$/ });
  for (const text of [watched.out, json.out, pushed.err]) t.notMatch(text, OBEYED);
});

t.test('a server that sends no records is told apart, with what is wrong', async (t) => {
  const wrong: [unknown, RegExp][] = [
    [{ type: 'now', code: 7, rawdata: 'x', duration: 0 }, /invalid title record \(code: .*string.*\)\n$/],
    [{ type: 'now', code: 'x', rawdata: { toString: 1 }, duration: 0 }, /invalid title record \(rawdata: /],
    [null, /invalid title record \(.*object.*\)\n$/],
    [[], /invalid title record/],
  ];
  let sent: unknown;
  let status = 200;
  const server = createServer(({ method }, response) => {
    response.writeHead(method === 'GET' ? 200 : status, { 'Content-Type': 'text/event-stream' });
    if (method === 'GET') response.write(`data: ${JSON.stringify(sent)}\n\n`);
    else response.end(JSON.stringify(sent));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.closeAllConnections());
  t.teardown(() => server.close());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const push = () => airsplice(['push', 'x', '--song', 'x', '--url', base], { AIRSPLICE_TOKEN: 'x' });
  for (const [record, err] of wrong) {
    sent = record;
    t.match(await airsplice(['watch', 'x', '--count', '1', '--url', base]), { code: 1, out: '', err });
  }
  t.match(await push(), { code: 1, out: '', err: /invalid title record/ });
  status = 422;
  for (const answer of [null, { detail: 7, errors: 'none' }, { errors: [{ field: 1 }] }]) {
    sent = answer;
    t.match(await push(), { code: 1, out: '', err: /^airsplice: 422: not accepted\n$/ });
  }
});

t.test('what a file of others says moves no cursor', async (t) => {
  const folder = tempFolder(t);
  const [yaml, xml] = [join(folder, 'evil.yaml'), join(folder, 'evil.xml')];
  writeFileSync(yaml, '"a\\e[2J\\x9b\\u202eb": 1\nstations: { "s\\e[1m": 1 }\n');
  const checked = await airsplice(['check', yaml]);
  t.match(checked, { code: 2, err: /evil\.yaml:1:1: a \[2J b: is not an option\n/ });
  writeFileSync(
    xml,
    `<icecast><mount><mount-name>/a</mount-name><username>dj&#8238;</username></mount>
    <paths><logdir>/none/x&#155;2J&#8238;</logdir></paths><logging><accesslog>a.log</accesslog></logging></icecast>`,
  );
  const made = await airsplice(['init', join(folder, 'a.yaml'), '--from', xml]);
  t.match(made, {
    code: 0,
    out: /user dj, password/,
    err: 'note: the access log: /none/x 2J is not writable here; see accessLog',
  });
  for (const text of [checked.err, made.out, made.err]) t.notMatch(text, OBEYED);
});

t.test('watch ends with a signal, as a success', async (t) => {
  const { base } = await startServer(t, demoYaml());
  const watching = new Program(t, process.execPath, [...PROGRAM, 'watch', 'demo', '--url', base]);
  const env = { AIRSPLICE_TOKEN: 'demo-token' };
  await airsplice(['push', 'demo', '--song', 'One', '--url', base], env);
  await watching.until(() => watching.said.includes('One'), 20_000, 'it says nothing');
  await watching.stop('SIGINT');
  t.equal(watching.ended, 0);
});
