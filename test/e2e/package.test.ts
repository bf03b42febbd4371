/** The package as it is installed: packed from the clone, installed where nothing else is, and run by its command; and a clone as it is run without. */

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { linksOf } from '../kit/links.js';
import { freePort } from '../kit/process.js';
import { missing, Program } from '../kit/program.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const INSTALL_MS = 180_000;
const VERSION = /^airsplice \d+\.\d+\.\d+ /;
const QUIET = ['--prefer-offline', '--no-audit', '--no-fund'];

/** As a person has it: what the test runner has put into it is not for npm. */
const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$)/i.test(name)),
);

async function run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
  const options = { cwd, env: ENVIRONMENT, timeout: INSTALL_MS, maxBuffer: 10_000_000 };
  return (await promisify(execFile)(command, args, options)).stdout;
}

/** It plays the demo, has its page, and stops as it should. @param start a line of the shell */
async function plays(t: Test, start: string, port: number): Promise<void> {
  const program = new Program(t, 'env', [
    '-i',
    `PATH=${ENVIRONMENT['PATH']}`,
    `HOME=${ENVIRONMENT['HOME']}`,
    'sh',
    '-c',
    start,
  ]);
  const isPlaying = () =>
    fetch(`http://127.0.0.1:${port}/status-json.xsl`).then(
      async (answer) => JSON.stringify(await answer.json()).includes('/studio.mp3'),
      () => false,
    );
  await program.until(isPlaying, 60_000, 'it does not play');
  t.match(program.said, /airsplice plays/);
  t.match(await (await fetch(`http://127.0.0.1:${port}/`)).text(), /<title>/, 'its page');
  await program.stop();
  await until(() => program.ended !== undefined, 20_000);
  t.equal(program.ended, 0);
}

t.test('npm pack, npm install -g, npx: the command runs the demo, with nothing of the clone', async (t) => {
  const folder = tempFolder(t);
  // It is built: npm test has done that, and a build here would be under other tests' feet.
  const packed = await run(ROOT, 'npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', folder);
  const [{ files }] = JSON.parse(packed);
  const paths: string[] = files.map(({ path }: { path: string }) => path);
  for (const path of [
    'dist/main.js',
    'dist/client/client.d.ts',
    'dist/client/player/player.js',
    'dist/web/page.js',
    'dist/web/texts/en.json',
    'dist/cluster/log/commit.lua',
    'config/demo.yaml',
    'config/demo/airsplice.mp3',
    'config/demo/studio.mp3',
    'config/demo/night.mp3',
    'config/demo/covers/slow-fader.jpg',
    'config/airsplice.schema.json',
    'LICENSE',
    'dist/THIRD-PARTY-LICENSES',
  ])
    t.ok(paths.includes(path), path);
  t.same(
    paths.filter((path) => path.endsWith('.d.ts')),
    [
      ...['attach', 'client', 'follow'],
      ...['player/listening-state', 'player/player-element', 'player/player', 'types'],
    ].map((name) => `dist/client/${name}.d.ts`),
    'declarations that programs import, and no others',
  );
  const links = linksOf(readFileSync(join(ROOT, 'README.md'), 'utf8'));
  t.ok(links.length > 15, 'links were found');
  for (const link of links) t.ok(paths.includes(link), `${link}, to which the README leads`);
  const isForEngineers = (path: string) =>
    (/^(src|test|bench)\//.test(path) && !path.endsWith('/README.md')) || /tsbuildinfo|\.ts$/.test(path);
  t.strictSame(
    paths.filter((path) => isForEngineers(path) && !path.startsWith('dist/client/')),
    [],
    'nothing that only its engineers need, but for their documents',
  );

  const prefix = join(folder, 'prefix');
  const tarball = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz'))!);
  await run(folder, 'npm', 'install', '--global', '--prefix', prefix, ...QUIET, tarball);
  const client = join(prefix, 'lib/node_modules/airsplice/dist/client/client.js');
  writeFileSync(join(folder, 'app.mts'), `import { follow } from '${client}';\nfollow({ channel: 'one' }).close();\n`);
  // The element's types are those of the DOM.
  const player = join(dirname(client), 'player/player.js');
  const element = `import '${player}';\nimport type { AirsplicePlayer, ListeningState } from '${player}';
export const stateOf = (element: AirsplicePlayer): ListeningState => element.state;\n`;
  writeFileSync(join(folder, 'page.mts'), element);
  await run(
    folder,
    join(ROOT, 'node_modules/.bin/tsc'),
    ...['--noEmit', '--strict', '--module', 'nodenext', 'page.mts'],
  );
  const strict = ['--noEmit', '--strict', '--module', 'nodenext', '--typeRoots', join(ROOT, 'node_modules/@types')];
  await run(folder, join(ROOT, 'node_modules/.bin/tsc'), ...strict, '--types', 'node', 'app.mts');
  const command = join(prefix, 'bin', 'airsplice');
  t.match(await run(folder, command, '--version'), VERSION);
  const page = realpathSync(join(prefix, 'share/man/man1/airsplice.1'));
  t.match(page, /\/lib\/node_modules\/airsplice\/dist\/airsplice\.1$/, 'where man looks');

  // What npx installs stays in npm's cache: here in one that is thrown away, with the real one's downloads.
  const [empty, cache] = [join(folder, 'empty'), join(folder, 'cache')];
  for (const made of [empty, cache]) mkdirSync(made);
  symlinkSync(join((await run(folder, 'npm', 'config', 'get', 'cache')).trim(), '_cacache'), join(cache, '_cacache'));
  const npx = ['--yes', '--cache', cache, ...QUIET, '--package', tarball, '--', 'airsplice', '--version'];
  t.match(await run(empty, 'npx', ...npx), VERSION);
  t.strictSame(readdirSync(empty), []);

  const port = await freePort();
  // Its data go where it is started.
  await plays(t, `cd '${folder}' && exec '${command}' --port ${port}`, port);
});

t.test('npm ci --omit=dev, npm start: in a clone that was built', { skip: missing('git') }, async (t) => {
  const clone = join(tempFolder(t), 'clone');
  await run(ROOT, 'git', 'clone', '--quiet', '--depth', '1', `file://${ROOT}`, clone);
  // What is tested is not committed yet, perhaps.
  cpSync(join(ROOT, 'dist'), join(clone, 'dist'), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(clone, 'package.json'));
  await run(clone, 'npm', 'ci', '--omit=dev', ...QUIET);
  t.notOk(readdirSync(join(clone, 'node_modules')).includes('typescript'), 'nothing that only its engineers need');
  const port = await freePort();
  await plays(t, `cd '${clone}' && exec npm start -- --port ${port}`, port);
});
