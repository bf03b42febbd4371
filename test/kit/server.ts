/** Starts the whole server from a YAML text, in this process, on free loopback ports, with its own data folder. */

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
/** Two stations for a configuration: `zulu` and `alpha`, in this order, have no audio of their own; `bravo` plays. */
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
 * Number of workers of each server, from TEST_WORKERS. 0: it runs in this process. Otherwise tests can neither inspect the process nor move its
 * clock.
 */
export const WORKERS = Number(process.env['TEST_WORKERS'] ?? 0);

/**
 * Number of machines of each server, from TEST_NODES: they share a Redis, each has TEST_WORKERS or none, and connections go to random ones, by a
 * seed (server-nodes.ts). 0: one machine, without a cluster.
 */
export const NODES = Number(process.env['TEST_NODES'] ?? 0);

/** Time until every machine knows of an encoder, even on a busy machine (src/cluster/README.md, "Bounds"). */
export const KNOWN_EVERYWHERE_MS = 250;

/** Call it after the answer to an encoder other than a Feeder; one machine knows of it at once. */
export async function knownEverywhere(): Promise<void> {
  if (NODES > 0) await pause(KNOWN_EVERYWHERE_MS);
}

/** Maximum number of parallel subtests of a file, each with a server: one on several machines, two with workers, enough for two cores. */
export function atOnce(jobs: number): number {
  return NODES > 0 ? 1 : WORKERS > 0 ? Math.min(2, jobs) : jobs;
}

/** Spreads connections among the workers by a seed. */
export const SPREAD = new URL('spread.mjs', import.meta.url).pathname;

/** Time for four processes to start, even on a busy machine. */
const STARTED_MS = 60_000;
/** Longer than any test. */
const LONG_TURN_MS = 600_000;

export interface TestServer {
  readonly app: App;
  readonly port: number;
  /** `http://127.0.0.1:port` */
  readonly base: string;
  /** Number of serving processes of all machines. */
  readonly serving: number;
  /** `base` of each machine, for its own figures. */
  readonly machines: readonly string[];
  /** One of its machines, by a seed, the same after a restart, for what is each machine's own. */
  readonly one: TestServer;
  readonly ws: string;
  readonly folder: string;
  /** Puts another configuration in force; rejects if it is refused. */
  reload(yaml: string): Promise<ReloadPlan>;
}

/** The demo's three channels on a free port, with additions; tests that use the relay must give its URL. */
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

/** @param log gets the server's lines of all levels, from processes a moment later; absent: nothing is logged */
export async function startServer(t: Test, yaml: string, folder = tempFolder(t), log?: Log): Promise<TestServer> {
  const path = join(folder, 'config.yaml');
  writeFileSync(path, yaml);
  if (NODES > 0) return (await import('./server-nodes.js')).startNodes(t, yaml, folder, log);
  if (WORKERS > 0) return startProcesses(t, yaml, folder, log);
  const { startApp, checkConfig, Reloads } = await theServer();
  const read = (text: string) => {
    const { config, checked } = checkConfig(path, process.env, text);
    // Lines about stalls of the machine are only for tests that set longTurnMs.
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

/** /metrics of each machine. */
export function metricsOf({ machines }: Pick<TestServer, 'machines'>): Promise<string[]> {
  return Promise.all(machines.map(async (machine) => (await fetch(`${machine}/metrics`)).text()));
}

export function urlsAt(port: number) {
  return { port, base: `http://127.0.0.1:${port}`, ws: `ws://127.0.0.1:${port}` };
}

/** Loads the server on first use, which takes 0.8 s of CPU time that other users of this module save. */
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

/** Starts the server as separate processes, by the operator's command. */
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

/** The app's interface for separate processes. @param logEnds what a stop also waits for */
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

/** Passes on a line of a process. A line that its log did not write is a warning. */
export function passOn(line: string, log: Log): void {
  if (!line.startsWith('{')) return void log.warn({}, line);
  const { level, time: _, msg, ...fields } = JSON.parse(line);
  log[LEVELS[level] ?? 'error'](fields, msg);
}
const LEVELS: Readonly<Record<number, keyof Log>> = { 20: 'debug', 30: 'info', 40: 'warn' };

/** A port for each address; the next one is for SHOUTcast. */
export async function portsFor(yaml: string): Promise<[number, number[]]> {
  const count = yaml.match(/\bport: 0\b/g)?.length ?? 0;
  const ports: number[] = [];
  while (ports.length < Math.max(1, count)) ports.push(await freePorts(2));
  return [ports[0]!, ports];
}
