/**
 * `airsplice init [CONFIG]`: writes a first configuration from four answers, or from options, with new tokens and passwords. It is checked before
 * it is written. Exit code 1 if the file exists or its folder does not, 2 if an option is wrong.
 */

import { closeSync, existsSync, openSync, readSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../../base/own-files.js';
import { printable, printableLines } from '../../base/printable.js';
import { loadConfig } from '../../config/load.js';
import { messageOf } from '../../net/outbound/message-of.js';
import { advice } from '../../setup/advice.js';
import {
  AnswerError,
  draftOf,
  type NewChannel,
  type NewSource,
  type Reach,
  readChannels,
  readName,
  readPort,
  readReach,
  readSources,
} from '../../setup/answers.js';
import type { Draft } from '../../setup/draft.js';
import { draftText } from '../../setup/draft-text.js';
import { importedDraft } from '../../setup/import.js';
import { programName, wordOf } from '../../setup/program-name.js';
import { equip, SERVICE_CONFIG } from '../../setup/service-defaults.js';
import { audioProblem } from '../../source/files/audio-file.js';
import { type CommandLine, type RunCommand, textOf, UsageError } from '../command.js';
import { type Ask, withTerminal } from '../terminal/terminal-questions.js';
import { likeReplaced } from './replaced-file.js';

const FILE = 'airsplice.yaml';
/** Readable by its owner only, since secrets could be guessed from their digests. */
const MODE = 0o600;
/** The longest imported file: a thousand stations of AzuraCast take two megabytes. */
const MAX_IMPORT_BYTES = 4_194_304;
/** Exists while systemd runs. */
const SERVICE_MANAGER = '/run/systemd/system';
const PRESETS = { station: 'My Station', channel: 'live', reach: '8000', source: 'encoder' };

export const init: RunCommand = async (line, stop) => {
  const path = line.operands[0] ?? FILE;
  const folder = dirname(resolve(path));
  // Checked before the four questions, not after.
  if (!existsSync(folder))
    throw new Error(`folder ${folder} does not exist: create it first with mkdir -p ${wordOf(folder)}`);
  const from = textOf(line, 'from');
  const made = from === undefined ? await draftFrom(line, path, stop) : importFrom(from, line, path);
  const { draft, adminPassword } = equip(made, resolve(path));
  for (const sentence of draft.lost) process.stderr.write(`note: ${printable(sentence)}\n`);
  const source = from === undefined ? '' : ` from ${printable(basename(from))}`;
  writeDraft(
    draft,
    path,
    `An airsplice configuration, created by \`${programName()} init\`${source}.`,
    line.values['force'] === true,
  );
  const isService = resolve(path) === SERVICE_CONFIG && existsSync(SERVICE_MANAGER);
  process.stdout.write(printableLines(advice(draft, path, adminPassword, isService)));
  return 0;
};

/** Throws UsageError for options that an import does not take, Error if the file cannot be read. */
function importFrom(from: string, line: CommandLine, path: string): Draft {
  for (const name of ['port', 'public-url', 'source'])
    if (line.values[name] !== undefined) throw new UsageError(`--${name} and --from cannot be combined`);
  const { station = '', channels = [] } = givenIn(line);
  const mounts = channels.map(({ key }) => `/${key}`);
  try {
    return importedDraft(readBounded(from), { path: resolve(path), station, mounts });
  } catch (error) {
    throw new Error(`${from} cannot be used: ${messageOf(error)}`, { cause: error });
  }
}

/** Reads a file or a pipe (`--from <(…)`); throws past MAX_IMPORT_BYTES. */
function readBounded(path: string): string {
  const file = openSync(path, 'r');
  try {
    const pieces = Buffer.alloc(MAX_IMPORT_BYTES + 1);
    let bytes = 0;
    for (let read = -1; read !== 0 && bytes < pieces.length; bytes += read)
      read = readSync(file, pieces, bytes, pieces.length - bytes, null);
    if (bytes > MAX_IMPORT_BYTES) throw new Error(`it is longer than ${MAX_IMPORT_BYTES} bytes`);
    return pieces.toString('utf8', 0, bytes);
  } finally {
    closeSync(file);
  }
}

async function draftFrom(line: CommandLine, path: string, stop: AbortSignal): Promise<Draft> {
  const given = givenIn(line);
  const isWhole = Object.values(given).every((answer) => answer !== undefined);
  if (isWhole || line.values['yes'] === true)
    return await draftBy(given, path, async ({ read, preset }) => read(preset));
  if (!process.stdin.isTTY)
    throw new UsageError('no terminal to ask questions in: pass --station, --channel, --port and --source, or --yes');
  return await withTerminal(stop, (ask) => draftBy(given, path, ask));
}

interface Given {
  readonly station: string | undefined;
  readonly channels: readonly NewChannel[] | undefined;
  readonly reach: Reach | undefined;
  readonly sources: readonly NewSource[] | undefined;
}

/** Throws UsageError. */
function givenIn(line: CommandLine): Given {
  const read = <T>(name: string, reader: (text: string) => T): T | undefined => {
    const text = textOf(line, name);
    if (text === undefined) return undefined;
    try {
      return reader(text);
    } catch (error) {
      if (error instanceof AnswerError) throw new UsageError(`--${name}: ${error.message}`);
      throw error;
    }
  };
  const port = read('port', readPort);
  const url = read('public-url', (text) => {
    if (!/^https?:/.test(text)) throw new AnswerError('enter a URL such as https://radio.example');
    return readReach(text);
  });
  const reach = url ?? (port === undefined ? undefined : { port, publicUrl: '', isProxied: false });
  return {
    station: read('station', readName),
    channels: read('channel', readChannels),
    reach: reach === undefined || port === undefined ? reach : { ...reach, port },
    sources: read('source', (text) => readSources(text, process.cwd())),
  };
}

async function draftBy(given: Given, path: string, ask: Ask): Promise<Draft> {
  const { station, channel, reach, source } = PRESETS;
  const text = 'Where listeners reach it: a port, or the URL of a proxy in front of it';
  const sources =
    'Where its audio comes from: encoder, the URL of a stream, or a file (several: best first, separated by commas)';
  const name = given.station ?? (await ask({ text: 'Name of the station', preset: station, read: readName }));
  const channels =
    given.channels ?? (await ask({ text: 'Its channels, separated by commas', preset: channel, read: readChannels }));
  const [only] = channels;
  return draftOf(
    {
      station: name,
      // A single channel with the proposed key gets the station's name, which listeners see in players, on the page and in link previews.
      channels: channels.length === 1 && only?.name === channel ? [{ ...only, name }] : channels,
      reach: given.reach ?? (await ask({ text, preset: reach, read: readReach })),
      sources:
        given.sources ??
        (await ask({ text: sources, preset: source, read: (answer) => readSources(answer, process.cwd()) })),
    },
    resolve(path),
  );
}

/** Throws ConfigError if the draft is not valid, Error if the file exists. */
function writeDraft(draft: Draft, path: string, title: string, isForced: boolean): void {
  const text = draftText(draft, title, shipped('airsplice.schema.json'), shipped('example.yaml'));
  loadConfig(path, process.env, text, audioProblem);
  if (isForced) {
    replace(path, text);
    return;
  }
  try {
    writeFileSync(path, text, { mode: MODE, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new Error(`${path} already exists: --force replaces it`);
  }
}

/** Keeps the owner and mode of the file. */
function replace(path: string, text: string): void {
  const fresh = `${path}.new-${process.pid}`;
  try {
    const target = openSync(fresh, 'wx', MODE);
    try {
      writeFileSync(target, text);
      likeReplaced(target, path);
    } finally {
      closeSync(target);
    }
    renameSync(fresh, path);
  } finally {
    rmSync(fresh, { force: true });
  }
}

/** A file of this package, absolute. */
function shipped(name: string): string {
  return fileURLToPath(packageFile(`config/${name}`));
}
