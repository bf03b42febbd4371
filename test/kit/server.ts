/** Starts the whole server from a YAML text, in this process, on free loopback ports, with a data folder of its own. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';
import type { App } from '../../src/app/app.js';
import { type Log, openLog } from '../../src/base/log.js';
import type { ReloadPlan } from '../../src/config/plan.js';
import { pause } from './pause.js';
import { freePorts, ServerProcess } from './process.js';
import { processConfig } from './process-config.js';
import { Random } from './random.js';
import { tempFolder } from './temp-folder.js';

export const DEMO_AUDIO = new URL('../../config/demo/airsplice.mp3', import.meta.url).pathname;
/** Of a configuration: two stations for readers. `zulu` and `alpha`, in this order, have no audio by themselves; `bravo` plays. */
export const TWO_STATIONS = `stations:
  house:
    channels:
      zulu: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] }
      alpha: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] }
  other:
    channels:
      bravo: { bitrateKbps: 128, pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
`;

/**
 * How many workers each server has: TEST_WORKERS of the environment. 0: it runs in this process. Then tests see it from outside only: what looks into
 * the process, or moves its clock, is not for this.
 */
export const WORKERS = Number(process.env['TEST_WORKERS'] ?? 0);

/**
 * On how many machines each server runs: TEST_NODES of the environment, with a Redis between them, each with TEST_WORKERS or none; a connection comes
 * to any of them, by a seed (server-nodes.ts). 0: on one, without a cluster.
 */
export const NODES = Number(process.env['TEST_NODES'] ?? 0);

/** In which every machine knows that an encoder has come to one of them, however busy they are (src/cluster/README.md, "Bounds"). */
export const KNOWN_EVERYWHERE_MS = 250;

/** To be called after the answer to an encoder that did not come by a Feeder: on one machine it is known at once. */
export async function knownEverywhere(): Promise<void> {
  if (NODES > 0) await pause(KNOWN_EVERYWHERE_MS);
}

/** How many subtests of a file run at a time, each with a server: of processes two are enough for two cores. */
export function atOnce(jobs: number): number {
  return NODES > 0 ? 1 : WORKERS > 0 ? Math.min(2, jobs) : jobs;
}

/** Spreads connections among the workers by a seed. */
export const SPREAD = new URL('spread.mjs', import.meta.url).pathname;

/** In which four processes start, however busy the machine is. */
const STARTED_MS = 60_000;
/** Longer than any test. */
const LONG_TURN_MS = 600_000;

export interface TestServer {
  readonly app: App;
  readonly port: number;
  /** `http://127.0.0.1:port` */
  readonly base: string;
  /** How many processes serve, of all machines. */
  readonly serving: number;
  /** `base` of each machine, for what it says of itself alone. */
  readonly machines: readonly string[];
  /** One of its machines, by a seed, the same after a restart: for what is each machine's own. */
  readonly one: TestServer;
  readonly ws: string;
  readonly folder: string;
  /** Puts another configuration in force; rejects where that cannot be. */
  reload(yaml: string): Promise<ReloadPlan>;
}

/** The demo's three channels on a free port (the relay's URL must be given where it is used), and whatever is added. */
export function demoYaml(extra = '', port = 0): string {
  return `
addresses: [{ host: 127.0.0.1, port: ${port} }]
stations:
  demo:
    name: Demo
    timezone: Europe/Zurich
    channels:
      demo:
        name: Demo Channel
        bitrateKbps: 128
        mounts: [/demo.mp3]
        pushTokens: [demo-token]
        sources: [{ type: file, path: ${DEMO_AUDIO} }]
      studio:
        name: Studio
        bitrateKbps: 128
        mounts: [/studio.mp3]
        pushTokens: [studio-token]
        sources: [{ type: encoder, password: demo-source, titlesWhileAway: true }, { type: file, path: ${DEMO_AUDIO} }]
${extra}
`;
}

/** @param log gets the server's lines, of all levels; of processes a moment later. Nothing is logged without */
export async function startServer(t: Test, yaml: string, folder = tempFolder(t), log?: Log): Promise<TestServer> {
  const path = join(folder, 'config.yaml');
  writeFileSync(path, yaml);
  if (NODES > 0) return (await import('./server-nodes.js')).startNodes(t, yaml, folder, log);
  if (WORKERS > 0) return startProcesses(t, yaml, folder, log);
  const { startApp, checkConfig, Reloads } = await theServer();
  const read = (text: string) => {
    const { config, checked } = checkConfig(path, process.env, text);
    // That the machine stood still belongs into a test's log only where the test asks for it.
    const longTurnMs = text.includes('longTurnMs') ? config.log.longTurnMs : LONG_TURN_MS;
    Object.assign(config.data, { folder: join(folder, 'data') });
    Object.assign(config.log, { longTurnMs });
    return { config, source: checked };
  };
  const { config } = read(yaml);
  const app = await startApp(config, log ?? openLog('silent', 0).log);
  t.teardown(() => app.stop());
  const reloads = Reloads.ofOne(config, app);
  const reload = async (text: string) => reloads.apply(read(text));
  return serverAt(app, folder, reload);
}

/** A server of one machine. */
function serverAt(app: App, folder: string, reload: TestServer['reload']): TestServer {
  const urls = urlsAt(app.ports[0]!);
  return {
    app,
    ...urls,
    serving: Math.max(1, WORKERS),
    machines: [urls.base],
    folder,
    reload,
    get one() {
      return this;
    },
  };
}

/** What each of its machines says of itself at /metrics. */
export function metricsOf({ machines }: Pick<TestServer, 'machines'>): Promise<string[]> {
  return Promise.all(machines.map(async (machine) => (await fetch(`${machine}/metrics`)).text()));
}

export function urlsAt(port: number) {
  return { port, base: `http://127.0.0.1:${port}`, ws: `ws://127.0.0.1:${port}` };
}

/** All of it is loaded where one starts: 0.8 s of CPU time that files need not, which use what else stands here. */
async function theServer() {
  const [app, load, plan, cli, reloads] = await Promise.all([
    import('../../src/app/app.js'),
    import('../../src/config/load.js'),
    import('../../src/config/plan.js'),
    import('../../src/cli/control-client.js'),
    import('../../src/processes/reload/reloads.js'),
  ]);
  return { ...app, ...load, ...plan, ...cli, ...reloads };
}

/** The same as processes of its own: the command that an operator starts. */
async function startProcesses(t: Test, yaml: string, folder: string, log: Log | undefined): Promise<TestServer> {
  const { loadConfig, planReload, control } = await theServer();
  const [port, ports] = await portsFor(yaml);
  const path = join(folder, 'config.yaml');
  const level = log === undefined ? 'silent' : 'debug';
  const fileOf = processConfig({ ports, folder, level, workers: WORKERS });
  writeFileSync(path, fileOf(yaml));
  const { seed } = new Random();
  t.teardown(() => {
    if (!t.passing()) process.stderr.write(`connections were spread with SEED=${seed}\n`);
  });
  const server = new ServerProcess(t, port, [path], { TMPDIR: folder, TEST_SPREAD: String(seed) }, [], SPREAD);
  const lines = createInterface(server.child.stderr!).on('line', (line) => log !== undefined && passOn(line, log));
  const logEnds = new Promise((resolve) => lines.once('close', resolve));
  await server.plays();
  const app = appOf(t, ports, [server], logEnds);
  let live = loadConfig(path, process.env);
  const reload = async (text: string) => {
    writeFileSync(path, fileOf(text));
    const planned = loadConfig(path, process.env);
    const plan = planReload(live, planned);
    await control(live.data.folder, 'reload', AbortSignal.timeout(STARTED_MS));
    live = planned;
    return plan;
  };
  return serverAt(app, folder, reload);
}

/** What a test has of the app where that is processes of its own. @param logEnds what a stop waits for besides */
export function appOf(
  t: Test,
  ports: readonly number[],
  servers: readonly ServerProcess[],
  logEnds?: Promise<unknown>,
): TestServer['app'] {
  return {
    ports,
    shoutcastPorts: ports.map((each) => each + 1),
    restrict: () => t.fail('not from outside'),
    get steps(): never {
      throw new Error('not from outside');
    },
    onReloads: () => t.fail('not from outside'),
    reopen: () => {
      for (const { child } of servers) child.kill('SIGHUP');
    },
    backup: () => Promise.reject(new Error('not from outside')),
    fault: () => (servers.every(({ ended }) => ended === undefined) ? null : 'one has ended'),
    stop: async () => {
      const there = servers.filter(({ ended }) => ended === undefined);
      await Promise.all(there.map((server) => server.end('SIGTERM')));
      await logEnds;
      return [];
    },
  };
}

/** A line of a process. What none of its log has written is a warning. */
export function passOn(line: string, log: Log): void {
  if (!line.startsWith('{')) return void log.warn({}, line);
  const { level, time: _, msg, ...fields } = JSON.parse(line);
  log[LEVELS[level] ?? 'error'](fields, msg);
}
const LEVELS: Readonly<Record<number, keyof Log>> = { 20: 'debug', 30: 'info', 40: 'warn' };

/** A port for each address, and the one behind it for SHOUTcast. */
export async function portsFor(yaml: string): Promise<[number, number[]]> {
  const count = yaml.match(/\bport: 0\b/g)?.length ?? 0;
  const ports: number[] = [];
  while (ports.length < Math.max(1, count)) ports.push(await freePorts(2));
  return [ports[0]!, ports];
}
