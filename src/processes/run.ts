/**
 * The command: arguments, a start that can be stopped, the stop, exit codes. 0 after a clean stop, 2 for a wrong command line or
 * configuration, 1 when the server cannot start (data folder in use, port taken), 70 after an uncaught exception.
 * One process (app/app.ts), or with `workers` a supervisor (supervisor.ts). Owned by main.ts, which listens to the signals.
 */

import { availableParallelism } from 'node:os';
import { type App, startApp } from '../app/app.js';
import { banner } from '../app/banner.js';
import { heedFileLimit } from '../app/file-limit.js';
import { openLog } from '../base/log.js';
import type { LoadedConfig } from '../config/load.js';
import { type ConfigSource, readCommand } from './configuration.js';
import { openControlSocket } from './control-socket.js';
import { leave, stopWhenBroken } from './leaving.js';
import { Supervisor } from './supervisor.js';

/** What the command runs. */
type Running = Pick<App, 'ports' | 'shoutcastPorts' | 'reopen' | 'stop'> & {
  /** Replaces all processes. */
  readonly restart?: () => Promise<void>;
};

/** Reads the configuration, starts the server and stops it. @param stop its reason is the signal */
export async function run(stop: AbortSignal): Promise<void> {
  const { source, config } = readCommand();
  const opened = openLog(config.log.level, config.log.bufferBytes);
  const { log, close } = opened;
  const graceMs = config.shutdown.graceSeconds * 1000;
  const workers = workersOf(config);
  // A supervisor waits for its children, which have that time.
  const endMs = graceMs + (workers > 0 ? SUPERVISOR_MS : 0);
  stop.addEventListener('abort', () => setTimeout(leave, endMs, 0, stop.reason).unref());
  let running: Running | null = null;
  stopWhenBroken(opened, graceMs, () => running);
  try {
    running = workers === 0 ? await startHere(config, opened, stop) : await supervise(config, source, opened, stop);
  } catch (error) {
    if (stop.aborted) {
      log.info({ signal: stop.reason }, 'stopped while it started');
      await close();
      return leave(0, stop.reason);
    }
    process.stderr.write(`airsplice: cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
    return leave(1, 'SIGKILL');
  }
  const { ports, shoutcastPorts } = running;
  log.info({ ports, shoutcastPorts }, 'listening');
  // A disk that is full, a pipe that is gone: it can be played without.
  process.stdout.on('error', () => undefined);
  if (!stop.aborted) process.stdout.write(banner(config, ports));
  process.on('SIGHUP', () => running.reopen());
  const { restart } = running;
  process.on('SIGUSR2', () => {
    if (restart === undefined) log.warn('SIGUSR2: without workers there is nothing that could be replaced');
    // Why it has failed is in the log.
    else restart().catch(() => undefined);
  });

  // Asked again while it drains: it goes on draining.
  const end = async (): Promise<void> => {
    log.info({ signal: stop.reason }, 'stopping');
    const errors = await running.stop().catch((error: unknown) => {
      log.error({ err: error }, 'stopping failed');
      return [error];
    });
    await close();
    leave(errors.length > 0 ? 1 : 0, stop.reason);
  };
  if (stop.aborted) await end();
  else stop.addEventListener('abort', () => void end());
}

/** What a supervisor may take beyond the grace of its children. */
const SUPERVISOR_MS = 1000;

async function startHere(config: LoadedConfig, { log }: ReturnType<typeof openLog>, stop: AbortSignal): Promise<App> {
  const app = await startApp(config, log, stop);
  heedFileLimit(config, app, log);
  return app;
}

async function supervise(
  config: LoadedConfig,
  source: ConfigSource,
  { log }: ReturnType<typeof openLog>,
  stop: AbortSignal,
): Promise<Running> {
  const supervisor = new Supervisor({ config, source, workers: workersOf(config), log });
  await supervisor.start(stop);
  const closeControl = await openControlSocket({
    dataFolder: config.data.folder,
    restart: () => supervisor.restart(),
  }).catch((error: unknown) => {
    log.warn({ err: error }, 'no control socket in the data folder: a restart is asked for by SIGUSR2 only');
    return () => undefined;
  });
  return {
    get ports() {
      return supervisor.ports;
    },
    get shoutcastPorts() {
      return supervisor.shoutcastPorts;
    },
    reopen: () => supervisor.reopen(),
    restart: () => supervisor.restart(),
    stop: (graceMs) => {
      closeControl();
      return supervisor.stop(graceMs);
    },
  };
}

/** How many processes serve clients; 0: this one. `auto`: one core is for the hub. */
function workersOf({ workers }: LoadedConfig): number {
  return workers === 'auto' ? Math.max(1, availableParallelism() - 1) : workers;
}
