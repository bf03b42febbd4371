/**
 * `airsplice restore FILE`: restores the configuration and the store of a backup to `--config` and `--data`. A backup is not trusted: the paths in
 * it are shown and compared, but never written to. Both files are written under temporary names, checked and flushed, and only then renamed: the
 * configuration last, since no server starts without it. The folder is locked meanwhile. The configuration keeps the owner of the file that it
 * replaces; the store gets the owner of its folder.
 *
 * Exit codes: 0 when both are in place; 1 if nothing was changed (a server runs, a file exists, the backup is damaged or of another format).
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
import { printable } from '../../base/printable.js';
import { messageOf } from '../../net/outbound/message-of.js';
import { checkStore, FILE } from '../../store/lmdb.js';
import { lockFolder } from '../../store/lock.js';
import { type CommandLine, type RunCommand, textOf } from '../command.js';
import { likeReplaced, ownedLike } from '../setup/replaced-file.js';
import { writtenPaths } from '../written-paths.js';
import { type OpenArchive, readArchive } from './archive.js';
import { CONFIG } from './backup-command.js';

/** A folder in the data folder that only this user may enter, so that no other can put a link there. */
const TEMPORARY = 'restoring';

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
    const named = writtenPaths(config, archive.config.toString('utf8'));
    const folder = targetFolder(line, config, named.folder, file);
    const { airsplice, madeAt, configPath } = archive.manifest;
    await install(archive, { config, folder, isForced: line.values['force'] === true }, file, () => {
      const { accessLog } = named;
      if (accessLog !== null) note(`the configuration writes an access log to ${accessLog}`);
      if (named.folder !== folder)
        note(`the configuration ${namedFolder(named.folder)}, but the store goes to ${folder}`);
    });
    const text = `restored ${config} and the store in ${folder} from the backup of ${configPath} made at ${madeAt} (airsplice ${airsplice})`;
    process.stdout.write(`airsplice: ${printable(text)}\n`);
    return 0;
  } finally {
    closeSync(source);
  }
};

function namedFolder(folder: string | null): string {
  return folder === null ? 'does not name its data folder' : `names the data folder ${folder}`;
}

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

/** `--data`; else the folder that the backup names, if the replaced configuration has the same one, or if it is `data` beside `config`. */
function targetFolder(line: CommandLine, config: string, named: string | null, file: string): string {
  const asked = textOf(line, 'data');
  if (asked !== undefined) return resolve(asked);
  const inPlace = existsSync(config) ? writtenPaths(config, readText(config)).folder : null;
  if (named !== null && (named === inPlace || named === join(dirname(config), 'data'))) return named;
  const why = namedFolder(named);
  const advice =
    named === null ? 'name it with --data FOLDER' : `--data ${named} puts the store there, --data FOLDER elsewhere`;
  throw new Error(`${file} was not restored: its configuration ${why}: ${advice}`);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** @param onReady called after all checks, before anything is changed */
async function install(archive: OpenArchive, target: RestoreTarget, file: string, onReady: () => void): Promise<void> {
  const { config, folder, isForced } = target;
  const made = mkdirSync(folder, { recursive: true, mode: 0o700 });
  let isPut = false;
  try {
    const lock = await lockFolder(folder);
    const making = join(folder, TEMPORARY);
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

/** Throws if a file exists, unless it may be replaced. */
function mustBeFree(archive: OpenArchive, store: string, config: string, isForced: boolean): void {
  const isSame = existsSync(config) && readFileSync(config).equals(archive.config);
  const there = [store, ...(isSame ? [] : [config])].filter((path) => existsSync(path));
  if (there.length === 0 || isForced) return;
  const verb = there.length > 1 ? 'exist' : 'exists';
  throw new Error(`${there.join(' and ')} already ${verb}: --force replaces existing files`);
}

/** Removes a new folder and its new parents, if empty. @param first the topmost folder that was made */
function removeEmpty(folder: string, first: string): void {
  try {
    for (let path = folder; path.length >= first.length; path = dirname(path)) rmdirSync(path);
  } catch {
    // No longer empty.
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

/** Makes renames durable. */
function flushFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
