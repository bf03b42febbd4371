/**
 * The `start` command: reads the arguments, starts the server in this process (app/app.ts) or with `workers` a supervisor (supervisor.ts), and
 * stops it. Exit codes: 0 after a clean stop, 2 for an invalid command line or configuration, 1 if the server cannot start (data folder in use,
 * port taken), 70 after an uncaught exception. Owned by main.ts, which handles SIGINT and SIGTERM.
 */

import { availableParallelism } from 'node:os';
import { banner } from '../app/addresses/banner.js';
import { restrictToFileLimit } from '../app/addresses/file-limit.js';
import type { App } from '../app/app.js';
import { type Log, openLog } from '../base/log.js';
import { CONFIG_PATH, RELOAD_BY_RESTART } from '../cli/reload-command.js';
import { workersAsked } from '../config/cluster-config.js';
import type { LoadedConfig } from '../config/load.js';
import { planText } from '../config/plan.js';
import { programName } from '../setup/program-name.js';
import { type NextConfig, operatorOf, readCommand } from './reload/configuration.js';
import { Reloading } from './reload/reloading.js';
import { Reloads } from './reload/reloads.js';
import { leave, stopWhenBroken } from './restart/leaving.js';
import { type ControlCommands, openControlSocket } from './supervisor/control-socket.js';
import { ServiceManager } from './supervisor/service-manager.js';

/** The running server: an App or a Supervisor. */
type Running = Pick<App, 'ports' | 'shoutcastPorts' | 'reopen' | 'backup' | 'fault' | 'stop'> & {
  readonly reloads: Reloads;
  /** Replaces all processes. Absent in one process. */
  readonly restart?: () => Promise<void>;
};

/** SIGHUP reloads the configuration, SIGUSR2 replaces all processes. */
type AskedSignal = 'SIGHUP' | 'SIGUSR2';

/**
 * Reads the configuration, starts the server, and stops it on `stop`.
 * @param args of the command line @param stop its reason is the signal that asked for the stop
 */
export async function run(args: readonly string[], stop: AbortSignal): Promise<void> {
  const read = readCommand(args);
  const { config } = read;
  const opened = openLog(config.log.level, config.log.bufferBytes, config.log.format);
  const { log, close } = opened;
  const graceMs = config.shutdown.graceSeconds * 1000;
  const workers = workersOf(config);
  stop.addEventListener('abort', () => {
    // A supervisor waits for its children, which get the whole grace.
    const endMs = config.shutdown.graceSeconds * 1000 + (workers > 0 ? SUPERVISOR_MS : 0);
    setTimeout(leave, endMs, 0, stop.reason).unref();
  });
  const service = new ServiceManager(process.env, log);
  let stopping = Promise.resolve();
  stop.addEventListener('abort', () => {
    stopping = service.stopping();
  });
  // Signals during the start are handled once the server is ready.
  const asked = new Set<AskedSignal>();
  let onSignal = (signal: AskedSignal): void => void asked.add(signal);
  for (const signal of ['SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => onSignal(signal));
  let running: Running | null = null;
  stopWhenBroken(opened, graceMs, () => running);
  const reloading = new Reloading({
    options: read.source,
    config,
    log,
    reloads: () => running?.reloads ?? null,
    onApplied: () => opened.setLevel(config.log.level),
  });
  const onReload = async () => planText(await reloading.reload());
  try {
    running = await (workers === 0 ? startHere : supervise)(read, log, stop, onReload);
  } catch (error) {
    if (stop.aborted) {
      log.info({ signal: stop.reason }, 'stopped while starting');
      await stopping;
      await close();
      return leave(0, stop.reason);
    }
    process.stderr.write(`airsplice: cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
    return leave(1, 'SIGKILL');
  }
  reloading.watch();
  const reload = async () => {
    running.reopen();
    // The log has the reason of a refusal.
    await reloading.reload().catch(() => undefined);
  };
  const restart = () => {
    if (running.restart === undefined) log.warn('SIGUSR2 has no effect without workers');
    // The log has the reason of a failure.
    else running.restart().catch(() => undefined);
  };
  const closeControl = await openControl(config, commandsOf(running, reloading), log);
  const { ports, shoutcastPorts } = running;
  log.info({ ports, shoutcastPorts }, 'listening');
  // The server runs on without its output: the disk may be full, or the pipe closed.
  process.stdout.on('error', () => undefined);
  if (!stop.aborted) process.stdout.write(banner(config, ports, programName(), operatorOf(read.source)));
  service.ready(`serving at port ${ports.join(', ')}`, () => running.fault());
  onSignal = (signal) => (signal === 'SIGHUP' ? void service.reload(reload) : restart());
  for (const signal of asked) onSignal(signal);

  // A second request during the drain changes nothing.
  const end = async (): Promise<void> => {
    log.info({ signal: stop.reason }, 'stopping');
    closeControl();
    const errors = await running.stop().catch((error: unknown) => {
      log.error({ err: error }, 'stopping failed');
      return [error];
    });
    await stopping;
    await close();
    leave(errors.length > 0 ? 1 : 0, stop.reason);
  };
  if (stop.aborted) await end();
  else stop.addEventListener('abort', () => void end());
}

/** Commands that the command line sends to the running server. */
function commandsOf(running: Running, reloading: Reloading): ControlCommands {
  return {
    reload: async () => planText(await reloading.reload()),
    [RELOAD_BY_RESTART]: async () => planText(await reloading.reload(true)),
    [CONFIG_PATH]: async () => reloading.file,
    plan: async () => planText(reloading.plan()),
    restart: async () => {
      if (running.restart === undefined) throw new Error('without workers there are no processes to replace');
      await running.restart();
      return '';
    },
    backup: () => running.backup(),
  };
}

/** Opens the control socket; without one the server only logs a warning. Resolves with a function that closes it. */
async function openControl(config: LoadedConfig, commands: ControlCommands, log: Log): Promise<() => void> {
  return await openControlSocket(config.data.folder, commands).catch((error: unknown) => {
    log.warn(
      { err: error },
      'no control socket in the data folder: restarts and reloads work only by signals, and backups only while the server is stopped',
    );
    return () => undefined;
  });
}

/** Time that a supervisor may take beyond the grace of its children, milliseconds. */
const SUPERVISOR_MS = 1000;

/** Starts the server in this process. @param reload reloads the configuration when an operator asks by HTTP */
async function startHere(
  { config }: NextConfig,
  log: Log,
  stop: AbortSignal,
  reload: () => Promise<string>,
): Promise<Running> {
  // Imported here, so that a supervisor does not load it.
  const { startApp } = await import('../app/app.js');
  const app = await startApp(config, log, { signal: stop, reload });
  restrictToFileLimit(config, app, log);
  return Object.assign(app, { reloads: Reloads.ofOne(config, app) });
}

async function supervise(
  { config, source }: NextConfig,
  log: Log,
  stop: AbortSignal,
  reload: () => Promise<string>,
): Promise<Running> {
  const { Supervisor } = await import('./supervisor/supervisor.js');
  const supervisor = new Supervisor({ config, source, workers: workersOf(config), log, reload });
  await supervisor.start(stop);
  return supervisor;
}

/** Returns the number of worker processes; 0: this process does it all. `auto` leaves one core to the hub. */
function workersOf({ workers, cluster }: LoadedConfig): number {
  const asked = workersAsked(workers, cluster);
  return asked === 'auto' ? Math.max(1, availableParallelism() - 1) : asked;
}
