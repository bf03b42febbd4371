/** The package as an app uses it: its types with and without those of browsers, and the module itself in a bare Node. */

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { demoYaml, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const run = promisify(execFile);
const tsc = (...args: string[]) => run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...args]);

const APP = `
import { attach, type Attachment, type ChannelRecord, follow, type Following } from 'airsplice/client';
import { WebSocket as Ws } from 'ws';

const show = (record: ChannelRecord | null): string => record?.title ?? '';
const one: Following = follow({ channel: 'demo', server: 'http://127.0.0.1:8000', onNow: show, onNext: show });
follow({ station: 'demo', server: new URL('http://127.0.0.1'), transport: 'sse', onState: (state) => state === 'connected' });
follow({ listener: 'a', sync: 'wire', server: 'http://127.0.0.1', WebSocket: Ws });
one.close();
// @ts-expect-error: a target is needed
follow({ server: 'http://127.0.0.1' });
`;
const PAGE = `
const audio = document.querySelector('audio')!;
const attachment: Attachment = attach(audio, '/demo.mp3', { onNow: ({ cover, positionMs }) => [cover, positionMs ?? 0] });
attach(new Audio(), '/demo.mp3', { WebSocket: window.WebSocket, reports: false, keepPausedMs: 1000 });
void attachment.play();
`;
const RUNS = `
import { follow } from 'airsplice/client';
const following = follow({ channel: 'demo', server: process.argv[2], onNow: ({ title }) => {
  console.log(title);
  following.close();
} });
`;

t.test('an app compiles against the package and runs with it', { timeout: 120_000 }, async (t) => {
  const folder = tempFolder(t);
  const installed = join(folder, 'node_modules/airsplice');
  mkdirSync(installed, { recursive: true });
  // Built as package.json says, where npm would put it.
  cpSync(join(ROOT, 'package.json'), join(installed, 'package.json'));
  const outDir = join(installed, 'dist');
  const options = ['--emitDeclarationOnly', 'false', '--incremental', 'false', '--tsBuildInfoFile', 'null'];
  await tsc('-p', join(ROOT, 'tsconfig.client.json'), ...options, '--outDir', outDir);
  for (const name of ['ws', '@types', 'undici-types'])
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  const { exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  t.strictSame(Object.keys(exports), ['./client', './client/player', './package.json']);

  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'app.ts'), APP);
  writeFileSync(join(folder, 'page.ts'), APP + PAGE);
  const strict = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023'];
  const compile = (file: string, lib: string) =>
    tsc(...strict, '--lib', lib, '--types', 'node', join(folder, file)).then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    );
  t.equal(await compile('app.ts', 'es2023'), '', 'in Node');
  t.equal(await compile('page.ts', 'es2023,dom,dom.iterable'), '', 'in a page');

  const { base } = await startServer(t, demoYaml());
  await fetch(`${base}/metapush/demo/demo-token?artist=A&song=first`);
  writeFileSync(join(folder, 'runs.js'), RUNS);
  const { stdout } = await run(process.execPath, [join(folder, 'runs.js'), base], { env: { NODE_OPTIONS: '' } });
  t.equal(stdout, 'A - first\n', 'and ends by itself when it is closed');
});
