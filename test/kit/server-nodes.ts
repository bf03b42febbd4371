/**
 * A test's server as several machines with one Redis and the same configuration: each one process or with workers, by a seed. In front of each
 * address, a proxy leads each connection to a machine, by a seed. Not for tests of what is each machine's own (src/cluster/README.md, "Bounds").
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';
import type { Log } from '../../src/base/log.js';
import { control } from '../../src/cli/control-client.js';
import { loadConfig } from '../../src/config/load.js';
import { planReload } from '../../src/config/plan.js';
import { forward } from './forward.js';
import { freePort, ServerProcess } from './process.js';
import { processConfig } from './process-config.js';
import { Random } from './random.js';
import { RedisServer } from './redis.js';
import { appOf, NODES, passOn, portsFor, SPREAD, type TestServer, urlsAt, WORKERS } from './server.js';

const STARTED_MS = 60_000;
const SECRET = 'a secret that all machines of a test know';

interface Machine {
  readonly server: ServerProcess;
  readonly ports: readonly number[];
  readonly path: string;
  fileOf(text: string): string;
}

interface MachineOptions {
  /** The test's folder. */
  readonly folder: string;
  readonly name: string;
  readonly workers: number;
  readonly redis: RedisServer;
  readonly log: Log | undefined;
}

export async function startNodes(t: Test, yaml: string, folder: string, log: Log | undefined): Promise<TestServer> {
  process.env['CLUSTER_SECRET'] = SECRET;
  const [port, ports] = await portsFor(yaml);
  const { redis, oneOf } = await keptFor(t, folder);
  const random = new Random();
  t.teardown(() => {
    if (!t.passing()) process.stderr.write(`connections were spread with SEED=${random.seed}, workers: ${workers}\n`);
  });
  // One process, or with workers.
  const workers = Array.from({ length: NODES }, () => (random.chance(0.5) ? WORKERS : 0));
  const machines = await Promise.all(
    workers.map((each, i) => startMachine(t, yaml, { folder, name: `node${i}`, workers: each, redis, log })),
  );
  await Promise.all(
    ports.map((front, place) =>
      forward(t, front, () => ({ host: '127.0.0.1', port: machines[random.int(0, NODES - 1)]!.ports[place]! })),
    ),
  );
  const appAt = (at: readonly number[]) =>
    appOf(
      t,
      at,
      machines.map(({ server }) => server),
    );
  let live = loadConfig(machines[0]!.path, process.env);
  const reload = async (text: string) => {
    for (const { path, fileOf } of machines) writeFileSync(path, fileOf(text));
    const planned = loadConfig(machines[0]!.path, process.env);
    const plan = planReload(live, planned);
    for (const { path } of machines) {
      await control(loadConfig(path, process.env).data.folder, 'reload', AbortSignal.timeout(STARTED_MS));
    }
    live = planned;
    return plan;
  };
  const serving = workers.reduce((sum, each) => sum + Math.max(1, each), 0);
  const all = { serving, machines: machines.map((machine) => urlsAt(machine.ports[0]!).base), folder, reload };
  const at = machines[oneOf]!.ports;
  const one: TestServer = {
    ...all,
    ...urlsAt(at[0]!),
    app: appAt(at),
    get one() {
      return this;
    },
  };
  return { ...all, ...urlsAt(port), app: appAt(ports), one };
}

/** State that a server keeps over a restart in its folder. */
interface Kept {
  readonly redis: RedisServer;
  /** Index of the machine that is `one`. */
  readonly oneOf: number;
}
const known = new Map<string, Kept>();

async function keptFor(t: Test, folder: string): Promise<Kept> {
  const kept = known.get(folder) ?? { redis: await RedisServer.start(t), oneOf: new Random().int(0, NODES - 1) };
  known.set(folder, kept);
  t.teardown(() => known.delete(folder));
  return kept;
}

async function startMachine(
  t: Test,
  yaml: string,
  { folder: all, name, workers, redis, log }: MachineOptions,
): Promise<Machine> {
  const folder = join(all, name);
  mkdirSync(folder, { recursive: true });
  const [port, ports] = await portsFor(yaml);
  const tapes = await freePort();
  const level = log === undefined ? 'silent' : 'debug';
  const shared = `tapes: { host: 127.0.0.1, port: ${tapes}, secret: 'env:CLUSTER_SECRET' }`;
  const besides = `cluster: { url: ${redis.url}, node: ${name}, ${shared} }\n`;
  const fileOf = processConfig({ ports, folder, level, workers, besides });
  const path = join(folder, 'config.yaml');
  writeFileSync(path, fileOf(yaml));
  const env = { TMPDIR: folder, TEST_SPREAD: String(new Random().seed) };
  const server = new ServerProcess(t, port, [path], env, [], SPREAD);
  createInterface(server.child.stderr!).on('line', (line) => log !== undefined && passOn(line, log));
  await server.plays();
  return { server, ports, path, fileOf };
}
