/**
 * The image and the Compose file of config/deploy/docker: linted, held against the tree and the program, and, where an engine is at hand, built and run
 * without a right, on a root that cannot be written to.
 */

import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { validate } from 'dockerfile-utils';
import t from 'tap';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/load.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const DOCKER = join(ROOT, 'config/deploy/docker');
const run = promisify(execFile);
const dockerfile = readFileSync(join(DOCKER, 'Dockerfile'), 'utf8');
const SECRETS = {
  AIRSPLICE_PUSH_TOKEN: 'a-token-of-this-test-that-is-long-enough',
  AIRSPLICE_ENCODER_PASSWORD: 'a-password-of-this-test',
  GRAFANA_PASSWORD: 'another-password',
};

t.test('the Dockerfile: no mistake, not root, and what it copies is there', async (t) => {
  t.strictSame(validate(dockerfile), []);
  const instructions = (name: string) =>
    [...dockerfile.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].map(([, rest]) => rest!);
  t.match(instructions('USER').at(-1), /^[1-9]\d*:[1-9]\d*$/, 'by number');
  const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
  const copied = instructions('COPY').filter((rest) => !rest.startsWith('--from'));
  for (const path of copied.flatMap((rest) => rest.split(' ').slice(0, -1))) {
    t.ok(existsSync(join(ROOT, path)), path);
    t.ok(ignored.includes(`!${path}`), `${path} is not ignored`);
  }
});

t.test('its health check is right about a server', async (t) => {
  const [command, ...args] = JSON.parse(/^ {2}CMD (\[.*\])$/m.exec(dockerfile)![1]!) as string[];
  const folder = tempFolder(t);
  const port = await freePort();
  const config = join(folder, 'config.yaml');
  writeFileSync(config, `data: { folder: ${join(folder, 'data')} }\n${demoYaml('', port)}`);
  const env = { ...process.env, NODE_OPTIONS: '', PORT: String(port) };
  const check = () =>
    run(command!, args, { env }).then(
      () => 0,
      ({ code }) => code,
    );
  t.equal(await check(), 1, 'nothing is there');
  const server = new ServerProcess(t, port, [config], {});
  await server.ready();
  t.equal(await check(), 0);
  await server.end('SIGTERM');
  t.equal(await check(), 1);
});

t.test('its configuration can be used, and needs its secrets', async (t) => {
  const path = join(DOCKER, 'airsplice.yaml');
  const { addresses, stations } = loadConfig(path, SECRETS);
  t.equal(Object.keys(stations).length, 1);
  t.strictSame(
    addresses.map(({ port }) => port),
    [8000, 9100],
  );
  t.throws(() => loadConfig(path, {}), /AIRSPLICE_PUSH_TOKEN/);
});

t.test('the Compose file mounts what is there, and agrees with the others', async (t) => {
  const { services } = parse(readFileSync(join(DOCKER, 'compose.yaml'), 'utf8'));
  for (const [name, service] of Object.entries<{ volumes: string[] }>(services)) {
    for (const [from] of service.volumes.map((volume) => volume.split(':')))
      if (from!.startsWith('.')) t.ok(existsSync(resolve(DOCKER, from!)), `${name}: ${from}`);
  }
  t.equal(resolve(DOCKER, services.airsplice.build.context), resolve(ROOT));
  const scraped = parse(readFileSync(join(DOCKER, 'prometheus.yml'), 'utf8'));
  t.equal(scraped.scrape_configs[0].static_configs[0].targets[0], 'airsplice:9100');
  for (const name of ['datasources', 'dashboards'])
    t.ok(parse(readFileSync(join(DOCKER, `grafana/${name}.yml`), 'utf8')));
});

t.test('Docker Compose takes it, but not without secrets', { skip: missing('docker-compose') }, async (t) => {
  const args = ['-f', join(DOCKER, 'compose.yaml'), 'config'];
  const { stdout } = await run('docker-compose', args, { env: { ...process.env, ...SECRETS } });
  t.match(stdout, /read_only: true/);
  await t.rejects(run('docker-compose', args), /AIRSPLICE_PUSH_TOKEN/);
});

/** Whether a container can be run here. */
function engine(): string | false {
  try {
    execFileSync('docker', ['info'], { stdio: 'ignore', timeout: 20_000 });
    return false;
  } catch {
    return 'no container engine is at hand';
  }
}

t.test('the image: built, healthy, ended by its signal', { skip: engine() }, async (t) => {
  const folder = tempFolder(t);
  const name = `airsplice-test-${process.pid}`;
  await run('docker', ['build', '-f', join(DOCKER, 'Dockerfile'), '-t', name, ROOT], { timeout: 900_000 });
  t.teardown(() => run('docker', ['rmi', '-f', name]));
  const config = join(folder, 'etc/airsplice.yaml');
  mkdirSync(dirname(config));
  writeFileSync(config, readFileSync(join(DOCKER, 'airsplice.yaml')));
  const secrets = Object.entries(SECRETS).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
  const limits = ['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges:true'];
  await run('docker', [
    'run',
    '-d',
    '--name',
    name,
    ...limits,
    ...secrets,
    '-v',
    `${dirname(config)}:/etc/airsplice:ro`,
    name,
  ]);
  t.teardown(() => run('docker', ['rm', '-f', '-v', name]));
  const inspect = async (what: string) => (await run('docker', ['inspect', '-f', what, name])).stdout.trim();
  await until(
    async () => (await inspect('{{.State.Health.Status}}')) === 'healthy',
    120_000,
    () => 'not healthy',
  );
  await run('docker', ['stop', '-t', '30', name]);
  t.equal(await inspect('{{.State.ExitCode}}'), '0');
});
