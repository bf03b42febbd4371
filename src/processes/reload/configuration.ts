/** The arguments and configuration of the command. The file is read and parsed here, once for all processes; children get its values. */

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LOG_LEVELS, type LogLevel } from '../../base/log.js';
import { packageFile } from '../../base/own-files.js';
import { measured } from '../../base/watchdog.js';
import { type CommandLine, numberOf, parseLine, textOf, UsageError } from '../../cli/command.js';
import { commandMeant, commandNamed } from '../../cli/commands.js';
import { usageOf } from '../../cli/terminal/help.js';
import { type CheckedConfig, checkConfig, type LoadedConfig, remakeConfig } from '../../config/load.js';
import { messageOf } from '../../net/outbound/message-of.js';
import { DEMO_OPERATOR, demoPassword, withOperator } from '../../setup/demo-operator.js';
import { audioProblem } from '../../source/files/audio-file.js';

const DEMO = fileURLToPath(packageFile('config/demo.yaml'));

/** What the command line states about the configuration. */
export interface ConfigOptions {
  readonly path: string;
  /** Port of the first address. Absent: that of the file. */
  readonly port?: number | undefined;
  /** Overrides log.level and LOG_LEVEL. */
  readonly logLevel?: LogLevel | undefined;
}

/** The plain data from which a child makes its configuration. */
export interface ConfigSource extends ConfigOptions, CheckedConfig {}

/** A configuration that was read, and the data from which children make the same one. */
export interface NextConfig {
  readonly config: LoadedConfig;
  readonly source: ConfigSource;
}

/** Reads arguments and configuration; ends the process with 2 if they are invalid. @param args those after the command's name */
export function readCommand(args: readonly string[]): NextConfig {
  const start = commandNamed('start')!;
  try {
    const [first = ''] = args;
    // Checked first: the operands and options of a mistyped command are not those of `start`.
    if (isWord(first)) throw noCommand(first);
    const line = parseLine(start, args);
    const [path = DEMO] = line.operands;
    const port = portOf(line);
    if (isWord(path)) throw noCommand(path);
    return readConfig({ path, port, logLevel: levelOf('--log-level', textOf(line, 'log-level')) });
  } catch (error) {
    process.stderr.write(`airsplice: ${messageOf(error)}\n${error instanceof UsageError ? `${usageOf(start)}\n` : ''}`);
    return process.exit(2);
  }
}

/** Reads and checks the file and the audio files that it names. Throws ConfigError, or UsageError for an invalid LOG_LEVEL. */
export function readConfig({ path, port, logLevel }: ConfigOptions): NextConfig {
  const options = { path, port, logLevel };
  const text = path === DEMO ? withOperator(readFileSync(DEMO, 'utf8')) : undefined;
  const read = () => checkConfig(path, environment(options), text, audioProblem);
  const { config, checked } = measured('reload', read);
  return { config: withOptions(config, options), source: { ...options, ...checked } };
}

/** Returns the demo's operator, whose password is made at the start; null if the command line names a configuration, which has its own. */
export function operatorOf({ path }: ConfigOptions): { readonly user: string; readonly password: string } | null {
  return path === DEMO ? { user: DEMO_OPERATOR, password: demoPassword() } : null;
}

/** Makes the same configuration in a child. Throws if a file that it names has gone. */
export function configOf(source: ConfigSource): LoadedConfig {
  const make = () => remakeConfig(source, environment(source));
  return withOptions(measured('reload', make), source);
}

function environment({ path, port }: ConfigOptions): NodeJS.ProcessEnv {
  return {
    ...process.env,
    ...(port === undefined ? {} : { PORT: String(port) }),
    // The demo keeps its data in the working directory, since the package's own folder may not be writable.
    ...(path === DEMO ? { DATA: resolve(process.env['DATA'] || 'data') } : {}),
  };
}

function withOptions(config: LoadedConfig, { port, logLevel }: ConfigOptions): LoadedConfig {
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

/** Throws UsageError. @param what the option or variable that holds the level */
function levelOf(what: string, text: string | undefined): LogLevel | undefined {
  if (text === undefined) return undefined;
  const level = LOG_LEVELS.find((each) => each === text.toLowerCase());
  if (level === undefined) throw new UsageError(`${what} must be one of: ${LOG_LEVELS.join(', ')}`);
  return level;
}

function noCommand(word: string): UsageError {
  return new UsageError(`no such command or file: "${word}"${commandMeant(word)}`);
}

/** Whether this looks like a command rather than a file. */
function isWord(path: string): boolean {
  return /^\w[\w-]*$/.test(path) && !existsSync(path);
}
