/** Arguments and configuration of the command. Children read the same text again, whatever has become of the file since. */

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LOG_LEVELS, type LogLevel } from '../../base/log.js';
import { packageFile } from '../../base/own-files.js';
import { measured } from '../../base/watchdog.js';
import { type CommandLine, messageOf, numberOf, parseLine, textOf, UsageError } from '../../cli/command.js';
import { commandMeant, commandNamed } from '../../cli/commands.js';
import { usageOf } from '../../cli/terminal/help.js';
import { type LoadedConfig, loadConfig } from '../../config/load.js';
import { audioProblem } from '../../source/audio-file.js';

const DEMO = fileURLToPath(packageFile('config/demo.yaml'));

/** Where a configuration comes from. Plain data. */
export interface ConfigSource {
  readonly path: string;
  /** What the file says; undefined: it is read. */
  readonly text?: string | undefined;
  /** Of the first address, where the command line says it. */
  readonly port?: number | undefined;
  /** In place of log.level and LOG_LEVEL, where the command line says it. */
  readonly logLevel?: LogLevel | undefined;
}

/** Reads arguments and configuration; ends the process with 2 when they are wrong. @param args behind the command's name */
export function readCommand(args: readonly string[]): { readonly source: ConfigSource; readonly config: LoadedConfig } {
  const start = commandNamed('start')!;
  try {
    const [first = ''] = args;
    // Before its own operands and options are taken for those of start.
    if (isWord(first)) throw noCommand(first);
    const line = parseLine(start, args);
    const [path = DEMO] = line.operands;
    const port = portOf(line);
    if (isWord(path)) throw noCommand(path);
    const logLevel = levelOf('--log-level', textOf(line, 'log-level'));
    const config = readConfig({ path, port, logLevel }, audioProblem);
    return { source: { path, text: readFileSync(path, 'utf8'), port, logLevel }, config };
  } catch (error) {
    process.stderr.write(`airsplice: ${messageOf(error)}\n${error instanceof UsageError ? `${usageOf(start)}\n` : ''}`);
    return process.exit(2);
  }
}

/** @param judge whether files can be played, where that is looked at. Throws ConfigError, UsageError for a LOG_LEVEL that is none */
export function readConfig({ path, text, port, logLevel }: ConfigSource, judge?: typeof audioProblem): LoadedConfig {
  const env = {
    ...process.env,
    ...(port === undefined ? {} : { PORT: String(port) }),
    // The package's own folder may not be writable: the demo's data are where it is run.
    ...(path === DEMO ? { DATA: resolve(process.env['DATA'] || 'data') } : {}),
  };
  const config = measured('reload', () => loadConfig(path, env, text, judge));
  if (port !== undefined) config.addresses[0]!.port = port;
  const level = logLevel ?? levelOf('LOG_LEVEL', process.env['LOG_LEVEL'] || undefined);
  if (level !== undefined) config.log.level = level;
  return config;
}

function portOf(line: CommandLine): number | undefined {
  if (textOf(line, 'port') === undefined) return undefined;
  const port = numberOf(line, 'port', 0, 0, 65_535);
  if (!Number.isInteger(port)) throw new UsageError('--port must be a whole number');
  return port;
}

/** Throws UsageError. @param what says it */
function levelOf(what: string, text: string | undefined): LogLevel | undefined {
  if (text === undefined) return undefined;
  const level = LOG_LEVELS.find((each) => each === text.toLowerCase());
  if (level === undefined) throw new UsageError(`${what} must be one of: ${LOG_LEVELS.join(', ')}`);
  return level;
}

function noCommand(word: string): UsageError {
  return new UsageError(`there is neither a command nor a file "${word}"${commandMeant(word)}`);
}

/** Rather a command that was meant than a file. */
function isWord(path: string): boolean {
  return /^\w[\w-]*$/.test(path) && !existsSync(path);
}
