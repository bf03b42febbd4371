/**
 * `airsplice restore FILE`: puts configuration and store of a backup where the command says: `--config` and `--data`. A backup is outside input: where it was made,
 * and where its configuration has its data, is shown and compared, and never written to by itself. Both are written beside their places, read again, checked and
 * flushed, and only then renamed, the configuration last: without it nothing starts. The folder is locked meanwhile. Their owners stay: the configuration's of
 * the file that it replaces, the store's of its folder.
 *
 * Exit codes: 0 when both are in place; 1 where nothing was changed, with why (a server runs, a file is there, the backup is damaged or of another format).
 */

import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { printable } from '../base/printable.js';
import { ConfigDocument } from '../config/document.js';
import { checkStore, FILE } from '../store/lmdb.js';
import { lockFolder } from '../store/lock.js';
import { type OpenArchive, readArchive } from './archive.js';
import { CONFIG } from './backup.js';
import { type CommandLine, messageOf, type RunCommand, textOf } from './command.js';
import { likeReplaced, ownedLike } from './replaced-file.js';

/** In the data folder, of ours alone: names that another user of the folder could have made lead nowhere. */
const MAKING = 'restoring';

/** Where a configuration has its server write. Null: it cannot be read, or has none. */
interface WrittenPlaces {
  readonly folder: string | null;
  readonly accessLog: string | null;
}

interface RestoreTarget {
  readonly config: string;
  readonly folder: string;
  readonly isForced: boolean;
}

export const restore: RunCommand = async (line) => {
  const file = line.operands[0]!;
  const source = openSync(file, 'r');
  try {
    const archive = open(source, file);
    const config = resolve(textOf(line, 'config') ?? CONFIG);
    const named = placesIn(config, archive.config.toString('utf8'));
    const folder = folderAsked(line, config, named.folder, file);
    const { airsplice, madeAt, configPath } = archive.manifest;
    await put(archive, { config, folder, isForced: line.values['force'] === true }, file, () => {
      const { accessLog } = named;
      if (accessLog !== null) note(`its server writes an access log to ${accessLog}`);
      if (named.folder !== folder) note(`its server looks for the store in ${named.folder ?? 'another folder'}`);
    });
    const text = `${config} and the store in ${folder} are those of ${madeAt} (airsplice ${airsplice}), from ${configPath}`;
    process.stdout.write(`airsplice: ${printable(text)}\n`);
    return 0;
  } finally {
    closeSync(source);
  }
};

function note(sentence: string): void {
  process.stderr.write(`note: ${printable(sentence)}\n`);
}

function open(source: number, file: string): OpenArchive {
  try {
    return readArchive(source);
  } catch (error) {
    throw new Error(`${file} cannot be restored: ${messageOf(error)}`, { cause: error });
  }
}

/** The folder of the command line, else the one that the configuration in place has, or would have without the option; the backup must have the same. */
function folderAsked(line: CommandLine, config: string, named: string | null, file: string): string {
  const asked = textOf(line, 'data');
  if (asked !== undefined) return resolve(asked);
  const inPlace = existsSync(config) ? placesIn(config, readText(config)).folder : null;
  if (named !== null && (named === inPlace || named === join(dirname(config), 'data'))) return named;
  const why = named === null ? 'does not say where its data are' : `has its data in ${named}`;
  const advice =
    named === null ? '--data FOLDER says it' : `--data ${named} puts the store there, --data FOLDER elsewhere`;
  throw new Error(`${file} was not restored: its configuration ${why}: ${advice}`);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** Of the text alone: nothing that it names is opened. */
function placesIn(path: string, text: string): WrittenPlaces {
  const { value } = new ConfigDocument(text, process.env);
  const { data, accessLog } = (value ?? {}) as { readonly data?: unknown; readonly accessLog?: unknown };
  const member = (section: unknown, name: string) => (section as Readonly<Record<string, unknown>> | null)?.[name];
  const [folder = './data', log] = [member(data, 'folder'), member(accessLog, 'file')];
  const absolute = (each: unknown) => (typeof each === 'string' && each !== '' ? resolve(dirname(path), each) : null);
  return { folder: value === undefined ? null : absolute(folder), accessLog: log === '-' ? null : absolute(log) };
}

/** @param onReady nothing was changed yet, and all is well */
async function put(archive: OpenArchive, target: RestoreTarget, file: string, onReady: () => void): Promise<void> {
  const { config, folder, isForced } = target;
  const made = mkdirSync(folder, { recursive: true, mode: 0o700 });
  let isPut = false;
  try {
    const lock = await lockFolder(folder);
    const making = join(folder, MAKING);
    const store = join(folder, FILE);
    const fresh = { store: join(making, FILE), config: `${config}.restored` };
    try {
      mustBeFree(archive, store, config, isForced);
      rmSync(making, { recursive: true, force: true });
      mkdirSync(making, { mode: 0o700 });
      // The server that will open it is the folder's owner.
      write(fresh.store, (target) => {
        archive.writeStore(target);
        ownedLike(target, folder);
      });
      await checkStore(fresh.store);
      write(fresh.config, (target) => {
        writeFileSync(target, archive.config);
        likeReplaced(target, config);
      });
      onReady();
      renameSync(fresh.store, store);
      rmSync(`${store}-lock`, { force: true });
      renameSync(fresh.config, config);
      isPut = true;
      for (const path of [folder, dirname(config)]) flushFolder(path);
    } finally {
      rmSync(making, { recursive: true, force: true });
      rmSync(fresh.config, { force: true });
      await lock.release();
    }
  } catch (error) {
    if (made !== undefined && !isPut) removeEmpty(folder, made);
    throw new Error(`${file} was not restored: ${messageOf(error)}`, { cause: error });
  }
}

/** Over what is there, only by force. */
function mustBeFree(archive: OpenArchive, store: string, config: string, isForced: boolean): void {
  const isSame = existsSync(config) && readFileSync(config).equals(archive.config);
  const there = [store, ...(isSame ? [] : [config])].filter((path) => existsSync(path));
  if (there.length === 0 || isForced) return;
  const verb = there.length > 1 ? 'are' : 'is';
  throw new Error(`${there.join(' and ')} ${verb} there already: --force replaces what is there`);
}

/** From a folder up to the first one that was made with it. */
function removeEmpty(folder: string, first: string): void {
  try {
    for (let path = folder; path.length >= first.length; path = dirname(path)) rmdirSync(path);
  } catch {
    // Something else is in it by now.
  }
}

function write(path: string, fill: (target: number) => void): void {
  rmSync(path, { force: true });
  const target = openSync(path, 'wx', 0o600);
  try {
    fill(target);
    fsyncSync(target);
  } finally {
    closeSync(target);
  }
}

/** Renames are on the disk then, too. */
function flushFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
