/** The client as a package of its own: packed by npm, installed where there is no network, then typed, run in Node and bundled for browsers. */

import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import t from 'tap';
import { linksOf } from '../kit/links.js';
import { demoYaml, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const MAX_BYTES = 30 * 1024;
/** As a person has it: what the test runner has put into it is not for npm. */
const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$)/i.test(name)),
);

async function run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
  const ran = promisify(execFile)(command, args, { cwd, env: ENVIRONMENT, timeout: 300_000 });
  const failed = (error: { stdout: string }) => Promise.reject(new Error(`${error}\n${error.stdout}`));
  return (await ran.catch(failed)).stdout;
}

const APP = `
import { attach, type Attachment, type ChannelRecord, follow, type Following } from 'airsplice-client';
const seen = (record: ChannelRecord): void => {
  console.log(record.title, typeof attach);
  following.close();
};
const following: Following = follow({ channel: 'demo', server: process.argv[2]!, onNow: seen });
export const stop = (attachment: Attachment): void => attachment.close();
// @ts-expect-error: a target is needed
export const none = () => follow({ server: 'http://127.0.0.1' });
`;
const PAGE = `
import { attach } from 'airsplice-client';
import { AirsplicePlayer, type ListeningState } from 'airsplice-client/player';
export const play = (audio: HTMLAudioElement) => attach(audio, '/demo.mp3', { onNow: ({ title }) => title }).play();
export const stateOf = (element: AirsplicePlayer): ListeningState => element.state;
`;

t.test('npm pack ./src/client, npm install --offline, import', { timeout: 400_000 }, async (t) => {
  const folder = tempFolder(t);
  // A clone that is built, and in which packing is under no other test's feet.
  const clone = join(folder, 'clone');
  for (const name of ['LICENSE', 'dist/client', 'src/client', 'src/freshen.mjs'])
    cpSync(join(ROOT, name), join(clone, name), { recursive: true });
  const [{ files, filename }] = JSON.parse(
    await run(clone, 'npm', 'pack', '--json', './src/client', '--pack-destination', folder),
  );
  const tarball = join(folder, filename);
  const bytes = statSync(tarball).size;
  t.ok(bytes <= MAX_BYTES, `${bytes} bytes`);
  for (const left of ['dist', 'LICENSE']) t.notOk(existsSync(join(clone, 'src/client', left)), 'nothing stays behind');
  const paths: string[] = files.map(({ path }: { path: string }) => path);
  t.strictSame(
    paths.filter((path) => !path.endsWith('.js')).sort(),
    [
      ...['LICENSE', 'README.md', 'dist/attach.d.ts', 'dist/client.d.ts', 'dist/follow.d.ts'],
      ...['listening-state', 'player-element', 'player'].map((name) => `dist/player/${name}.d.ts`),
      ...['dist/types.d.ts', 'package.json'],
    ],
    'beside plain JavaScript only what is read, and declarations that programs import',
  );
  const readme = readFileSync(join(clone, 'src/client/README.md'), 'utf8');
  for (const link of linksOf(readme)) t.ok(paths.includes(link), `${link}, to which the README leads`);
  const headings = Array.from(readme.matchAll(/^#+ (.*)$/gm), ([, text]) => text!.toLowerCase().replaceAll(' ', '-'));
  for (const [, anchor] of readme.matchAll(/\]\(#([^)]+)\)/g)) t.ok(headings.includes(anchor!), `#${anchor}`);

  const app = join(folder, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{"type":"module"}');
  await run(app, 'npm', 'install', '--offline', '--no-audit', '--no-fund', tarball);
  const { packages } = JSON.parse(readFileSync(join(app, 'package-lock.json'), 'utf8'));
  t.strictSame(Object.keys(packages), ['', 'node_modules/airsplice-client'], 'it needs nothing');
  const versionIn = (name: string) => JSON.parse(readFileSync(join(name, 'package.json'), 'utf8')).version;
  t.equal(versionIn(join(app, 'node_modules/airsplice-client')), versionIn(ROOT), 'the version of the server');

  for (const name of ['@types', 'undici-types'])
    symlinkSync(join(ROOT, 'node_modules', name), join(app, 'node_modules', name));
  writeFileSync(join(app, 'app.ts'), APP);
  writeFileSync(join(app, 'page.ts'), PAGE);
  const strict = ['--ignoreConfig', '--strict', '--module', 'nodenext', '--target', 'es2023'];
  const tsc = (...args: string[]) => run(app, join(ROOT, 'node_modules/.bin/tsc'), ...strict, ...args);
  await tsc('--lib', 'es2023', '--types', 'node', 'app.ts');
  await tsc('--noEmit', '--lib', 'es2023,dom,dom.iterable', 'page.ts');

  const { base } = await startServer(t, demoYaml());
  await fetch(`${base}/metapush/demo/demo-token?artist=A&song=packed`);
  t.equal(await run(app, process.execPath, 'app.js', base), 'A - packed function\n', 'in Node');

  const bundled = async (code: string) => {
    const stdin = { contents: code, resolveDir: app };
    const { outputFiles } = await build({ stdin, bundle: true, format: 'esm', minify: true, write: false });
    return outputFiles[0]!.text;
  };
  const element = await bundled(`import 'airsplice-client/player';`);
  t.match(element, /customElements\.define\("airsplice-player"/, 'a bundler keeps what defines the element');
  const follows = await bundled(`import { follow } from 'airsplice-client'; follow({ channel: 'demo' });`);
  t.ok(follows.length < 12_000, `and leaves out what is not imported: ${follows.length} bytes`);
  const unused = await bundled(`import 'airsplice-client';`);
  t.equal(unused.trim(), '', 'all of it, where nothing is');
});
