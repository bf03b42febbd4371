/** Arguments and configuration of the command. Children read the same text again, whatever has become of the file since. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ConfigError, type LoadedConfig, loadConfig } from '../config/load.js';

const DEMO = fileURLToPath(new URL('../../config/demo.yaml', import.meta.url));
const USAGE = `usage: npm start -- [--port PORT] [CONFIG.yaml]     (without a configuration: the demo, ${DEMO})
       node dist/main.js restart CONFIG.yaml     (replaces the processes of a running server with workers)
       node dist/main.js measure-offset CHANNEL     (README.md, "Finding the offset")`;

/** Where a configuration comes from. Plain data. */
export interface ConfigSource {
  readonly path: string;
  /** What the file says; undefined: it is read. */
  readonly text?: string | undefined;
  /** Of the first address, where the command line says it. */
  readonly port?: number | undefined;
}

/** Reads arguments and configuration; ends the process with 2 when they are wrong. */
export function readCommand(): { readonly source: ConfigSource; readonly config: LoadedConfig } {
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
    const port = values.port === undefined ? undefined : readPort(values.port);
    const path = positionals[0] ?? DEMO;
    const config = readConfig({ path, port });
    return { source: { path, text: readFileSync(path, 'utf8'), port }, config };
  } catch (error) {
    const usage = error instanceof ConfigError ? '' : `${USAGE}\n`;
    process.stderr.write(`airsplice: ${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return process.exit(2);
  }
}

/** @throws ConfigError */
export function readConfig({ path, text, port }: ConfigSource): LoadedConfig {
  const env = port === undefined ? process.env : { ...process.env, PORT: String(port) };
  const config = loadConfig(path, env, text);
  if (port !== undefined) config.addresses[0]!.port = port;
  return config;
}

function readPort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error('--port must be a number from 0 to 65535');
  return port;
}
