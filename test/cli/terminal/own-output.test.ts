/** Every command when the reader of its output has gone, or the disk is full; one that records ends as with Ctrl-C. */

import { spawn } from 'node:child_process';
import { openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { COMMANDS } from '../../../src/cli/commands.js';
import { PROGRAM } from '../../kit/process.js';
import { demoYaml, startServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';

interface Ended {
  readonly code: number | null;
  readonly err: string;
}

/** @param output null: a pipe whose reader has gone */
function run(cwd: string, args: readonly string[], output: number | null): Promise<Ended> {
  const env = { ...process.env, NODE_OPTIONS: '', AIRSPLICE_TOKEN: 'demo-token' };
  const child = spawn(process.execPath, [...PROGRAM, ...args], {
    cwd,
    env,
    stdio: ['ignore', output ?? 'pipe', 'pipe'],
  });
  child.stdout?.destroy();
  let err = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, err })));
}

/** Each command with arguments that make it write, and the exit code that it has then. @param base of a server @param config of one that does not run */
function lines(base: string, config: string): Readonly<Record<string, readonly [readonly string[], number] | null>> {
  return {
    // Its log: test/e2e/log.test.ts.
    start: null,
    check: [['check', config], 0],
    init: [['init', 'made.yaml', '--yes'], 0],
    token: [['token', 'demo'], 0],
    // Of a server that runs, and they change it: they write one text, as these do.
    reload: null,
    restart: null,
    status: [['status', '--url', base, '--watch', '--every', '0.5'], 0],
    // Refused on standard error.
    cluster: [['cluster', '--url', base], 1],
    backup: null,
    restore: null,
    push: [['push', 'demo', '--song', 'x', '--url', base], 0],
    watch: [['watch', 'demo', '--lines', '--url', base], 0],
    record: [['record', `${base}/demo`, '--out', 'recorded', '--seconds', '300'], 0],
    doctor: [['doctor'], 0],
    bench: [['bench', '--url', base, '--channel', 'demo', '--listeners', '1', '--seconds', '1'], 0],
    'measure-offset': [['measure-offset', 'demo', '--url', base], 0],
    schema: [['schema'], 0],
    completion: [['completion', 'bash'], 0],
    help: [['help'], 0],
    version: [['version'], 0],
  };
}

async function made(t: Test) {
  const folder = tempFolder(t);
  const config = join(folder, 'config.yaml');
  writeFileSync(config, demoYaml());
  const { base } = await startServer(t, demoYaml());
  await until(async () => (await fetch(`${base}/readyz?channels=demo`)).status === 200, 10_000);
  // Watchers have something to write at once.
  await fetch(`${base}/metapush/demo/demo-token?song=first`);
  return { folder, lines: lines(base, config) };
}

t.test('a reader that has gone ends each command, without a word, as its exit code is anyway', async (t) => {
  const { folder, lines } = await made(t);
  t.strictSame(Object.keys(lines).sort(), COMMANDS.map(({ name }) => name).sort(), 'all commands');
  for (const [name, line] of Object.entries(lines)) {
    if (line === null) continue;
    const [args, code] = line;
    const ended = await run(folder, args, null);
    t.equal(ended.code, code, `${name}: ${ended.err}`);
    t.notMatch(ended.err, /EPIPE|^\s+at /m, name);
  }
  const [audio] = readdirSync(folder).filter((name) => /^recorded\.(mp3|aac)$/.test(name));
  t.ok(audio, 'what it recorded is there');
  t.match(
    JSON.parse(readFileSync(join(folder, 'recorded.json'), 'utf8')),
    { titles: [{ file: audio }] },
    'and its list',
  );
});

t.test('a disk that is full: one line, exit code 1', { skip: process.platform !== 'linux' }, async (t) => {
  const { folder, lines } = await made(t);
  for (const name of ['schema', 'help', 'check', 'watch', 'status', 'record']) {
    const ended = await run(folder, lines[name]![0], openSync('/dev/full', 'w'));
    t.strictSame(ended, { code: 1, err: 'airsplice: standard output cannot be written (ENOSPC)\n' }, name);
  }
});
