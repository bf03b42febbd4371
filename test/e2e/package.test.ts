/** The package as it is installed: packed from the clone, installed where nothing else is, and run by its command. */

import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { until } from '../kit/player.js';
import { freePort } from '../kit/process.js';
import { Program } from '../kit/program.js';
import { tempFolder } from '../kit/server.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const INSTALL_MS = 180_000;

/** npm, as a person runs it: what the test runner has put into the environment is not for it. */
async function npm(cwd: string, ...args: readonly string[]): Promise<string> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$)/i.test(name));
  const { stdout } = await promisify(execFile)('npm', args, {
    cwd,
    env: Object.fromEntries(kept),
    timeout: INSTALL_MS,
    maxBuffer: 10_000_000,
  });
  return stdout;
}

t.test('npm pack, npm install -g: the command runs the demo, with nothing of the clone', async (t) => {
  const folder = tempFolder(t);
  // It is built: npm test has done that, and a build here would be under other tests' feet.
  const [{ files }] = JSON.parse(await npm(ROOT, 'pack', '--json', '--ignore-scripts', '--pack-destination', folder));
  const paths: string[] = files.map(({ path }: { path: string }) => path);
  for (const path of [
    'dist/main.js',
    'dist/client/client.d.ts',
    'dist/web/index.html',
    'config/demo.yaml',
    'config/airsplice.schema.json',
    'LICENSE',
  ])
    t.ok(paths.includes(path), path);
  t.strictSame(
    paths.filter((path) => /^(src|test|bench)\/|tsbuildinfo|\.ts$/.test(path) && !path.startsWith('dist/client/')),
    [],
    'nothing that only its engineers need',
  );

  const prefix = join(folder, 'prefix');
  const tarball = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz'))!);
  await npm(folder, 'install', '--global', '--prefix', prefix, '--prefer-offline', '--no-audit', '--no-fund', tarball);
  const command = join(prefix, 'bin', 'airsplice');
  const { stdout } = await promisify(execFile)(command, ['--version'], { env: { PATH: process.env['PATH'] } });
  t.match(stdout, /^airsplice \d+\.\d+\.\d+ /);

  const port = await freePort();
  // Its data go where it is started.
  const program = new Program(t, 'sh', ['-c', `cd '${folder}' && exec '${command}' --port ${port}`], {
    NODE_OPTIONS: '',
  });
  const playing = () =>
    fetch(`http://127.0.0.1:${port}/status-json.xsl`).then(
      async (answer) => JSON.stringify(await answer.json()).includes('/studio.mp3'),
      () => false,
    );
  await program.until(playing, 60_000, 'it does not play');
  t.match(program.said, /airsplice plays/);
  t.match(await (await fetch(`http://127.0.0.1:${port}/`)).text(), /<title>/, 'its page');
  await program.stop();
  await until(() => program.ended !== undefined, 20_000);
  t.equal(program.ended, 0);
});
