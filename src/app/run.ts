/**
 * The command: arguments, a start that can be stopped, the stop, exit codes. 0 after a clean stop, 2 for a wrong command line or
 * configuration, 1 when the server cannot start (data folder in use, port taken), 70 after an uncaught exception.
 * Owned by main.ts, which listens to the signals.
 */

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Log, type OpenLog, openLog } from '../base/log.js';
import { isWriting } from '../base/output.js';
import { ConfigError, type LoadedConfig, loadConfig } from '../config/load.js';
import { type App, startApp } from './app.js';
import { banner } from './banner.js';
import { fileLimit } from './file-limit.js';
import { isClosing } from './stop-steps.js';

const DEMO = fileURLToPath(new URL('../../config/demo.yaml', import.meta.url));
const USAGE = `usage: npm start -- [--port PORT] [CONFIG.yaml]     (without a configuration: the demo, ${DEMO})
       node dist/main.js measure-offset CHANNEL     (README.md, "Finding the offset")`;

/** How long a write on its way to a log or the store is waited for at the very end. */
const MOMENT_MS = 20;
const MOMENTS = 10;

/** EX_SOFTWARE of sysexits.h. */
const BROKEN = 70;
/** What listeners get to take their last bytes then: who listens again is answered by the next start only. */
const BROKEN_GRACE_MS = 2000;

/** Reads arguments and configuration; ends the process with 2 when they are wrong. */
function readConfig(): LoadedConfig {
  try {
    const { values, positionals } = parseArgs({
      options: { port: { type: 'string', short: 'p' }, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    });
    if (values.help) {
      process.stdout.write(`${USAGE}\n`);
      process.exit(0);
    }
    if (positionals.length > 1) throw new Error('only one configuration can be given');
    const env = values.port === undefined ? process.env : { ...process.env, PORT: values.port };
    const config = loadConfig(positionals[0] ?? DEMO, env);
    if (values.port !== undefined) config.addresses[0]!.port = readPort(values.port);
    return config;
  } catch (error) {
    const usage = error instanceof ConfigError ? '' : `${USAGE}\n`;
    process.stderr.write(`airsplice: ${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return process.exit(2);
  }
}

function readPort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error('--port must be a number from 0 to 65535');
  return port;
}

/**
 * Out, whatever hangs. Node's own exit would wait for ever for a write that the system does not end, of a log or the store: then by the
 * signal itself, which supervisors count as a clean end where it asked for one. A write that is only on its way gets a moment.
 */
function leave(code: number, signal: NodeJS.Signals, moments = MOMENTS): void {
  if (!isWriting() && !isClosing()) process.exit(code);
  if (moments > 0) {
    setTimeout(leave, MOMENT_MS, code, signal, moments - 1);
    return;
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/**
 * An uncaught exception leaves a state that is not known: its reason becomes the log's last line at once, listeners are let go
 * with a whole frame as far as that goes, and a supervisor starts anew. A second one ends it where it is.
 */
function stopWhenBroken({ log, close }: OpenLog, graceMs: number, app: () => App | null): void {
  let isBroken = false;
  // Unhandled rejections come here too.
  process.on('uncaughtException', (error) => {
    if (isBroken) return leave(BROKEN, 'SIGKILL');
    isBroken = true;
    log.fatal({ err: error }, 'uncaught exception: stopping');
    const written = close();
    const stopMs = Math.min(graceMs, BROKEN_GRACE_MS);
    setTimeout(leave, stopMs, BROKEN, 'SIGKILL');
    const stopped = app()
      ?.stop(stopMs)
      .catch(() => undefined);
    void Promise.all([stopped, written]).then(() => leave(BROKEN, 'SIGKILL'));
  });
}

/** Sockets that the system does not give cannot be refused politely, and what the radio itself opens would fail with them. */
function heedFileLimit(config: LoadedConfig, app: App, log: Log): void {
  const channels = Object.values(config.stations).flatMap((station) => Object.values(station.channels));
  const limit = fileLimit(channels.reduce((sum, { sources }) => sum + sources.length, 0));
  const wanted = config.limits.connections;
  if (limit === null || limit.connections >= wanted) return;
  app.restrict(limit.connections);
  const fields = { files: limit.files, connections: limit.connections, wanted };
  log.warn(
    fields,
    'too few open files are allowed for limits.connections: there will be fewer (ulimit -n, LimitNOFILE)',
  );
}

/** Reads the configuration, starts the server and stops it. @param stop its reason is the signal */
export async function run(stop: AbortSignal): Promise<void> {
  const config = readConfig();
  const opened = openLog(config.log.level, config.log.bufferBytes);
  const { log, close } = opened;
  const graceMs = config.shutdown.graceSeconds * 1000;
  stop.addEventListener('abort', () => setTimeout(leave, graceMs, 0, stop.reason).unref());
  let app: App | null = null;
  stopWhenBroken(opened, graceMs, () => app);
  try {
    app = await startApp(config, log, stop);
  } catch (error) {
    if (stop.aborted) {
      log.info({ signal: stop.reason }, 'stopped while it started');
      await close();
      return leave(0, stop.reason);
    }
    process.stderr.write(`airsplice: cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
    return leave(1, 'SIGKILL');
  }
  heedFileLimit(config, app, log);
  const { ports, shoutcastPorts } = app;
  log.info({ ports, shoutcastPorts }, 'listening');
  // A disk that is full, a pipe that is gone: it can be played without.
  process.stdout.on('error', () => undefined);
  if (!stop.aborted) process.stdout.write(banner(config, ports));
  process.on('SIGHUP', () => app.reopen());

  // Asked again while it drains: it goes on draining.
  const end = async (): Promise<void> => {
    log.info({ signal: stop.reason }, 'stopping');
    const errors = await app.stop().catch((error: unknown) => {
      log.error({ err: error }, 'stopping failed');
      return [error];
    });
    await close();
    leave(errors.length > 0 ? 1 : 0, stop.reason);
  };
  if (stop.aborted) await end();
  else stop.addEventListener('abort', () => void end());
}
