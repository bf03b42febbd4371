/**
 * The command: arguments, signals, exit codes. 0 after a clean stop, 2 for a wrong command line or configuration, 1 when the
 * server cannot start (data folder in use, port taken).
 */

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startApp } from './app.js';
import { banner } from './banner.js';
import { ConfigError, type LoadedConfig, loadConfig } from './config/load.js';
import { openLog } from './log.js';
import { isWriting } from './output.js';

const DEMO = fileURLToPath(new URL('../config/demo.yaml', import.meta.url));
const USAGE = `usage: npm start -- [--port PORT] [CONFIG.yaml]     (without a configuration: the demo, ${DEMO})`;

/** How long a line on its way to a log is waited for at the very end. */
const MOMENT_MS = 20;
const MOMENTS = 10;

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
 * Out, whatever hangs. Node's own exit would wait for a line of a log that nobody takes, for ever: then by the signal itself, which
 * supervisors count as a clean end. A line that is only on its way gets a moment.
 */
function leave(signal: NodeJS.Signals, moments = MOMENTS): void {
  if (!isWriting()) process.exit(0);
  if (moments > 0) {
    setTimeout(leave, MOMENT_MS, signal, moments - 1);
    return;
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

async function main(): Promise<void> {
  const config = readConfig();
  const { log, close } = openLog(config.log.level, config.log.bufferBytes);
  const app = await startApp(config, log).catch((error: unknown) => {
    process.stderr.write(`airsplice: cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
    return process.exit(1);
  });
  log.info({ ports: app.ports, shoutcastPorts: app.shoutcastPorts }, 'listening');
  // A disk that is full, a pipe that is gone: it can be played without.
  process.stdout.on('error', () => undefined);
  process.stdout.write(banner(config, app.ports));

  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    // Asked again while it drains: it goes on draining.
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    setTimeout(leave, config.shutdown.graceSeconds * 1000, signal).unref();
    const end = (code: number) => void close().then(() => process.exit(code));
    app.stop().then(
      () => end(0),
      (error: unknown) => {
        log.error({ err: error }, 'stopping failed');
        end(1);
      },
    );
  };
  process.on('SIGHUP', () => app.reopen());
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

await main();
