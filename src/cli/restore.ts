/**
 * `airsplice restore FILE`: puts configuration and store of a backup where they were, or where `--config` and `--data` say. Both are written beside their places,
 * read again, checked and flushed, and only then renamed, the configuration last: without it nothing starts. The folder is locked meanwhile. Their owners stay: the
 * configuration's of the file that it replaces, the store's of its folder.
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
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { printable } from '../base/printable.js';
import { ConfigError, loadConfig } from '../config/load.js';
import { checkStore, FILE } from '../store/lmdb.js';
import { lockFolder } from '../store/lock.js';
import { type OpenArchive, readArchive } from './archive.js';
import { messageOf, type RunCommand, textOf } from './command.js';
import { likeReplaced, ownedLike } from './replaced-file.js';

export const restore: RunCommand = async (line) => {
  const file = line.operands[0]!;
  const source = openSync(file, 'r');
  try {
    const archive = open(source, file);
    const config = resolve(textOf(line, 'config') ?? archive.manifest.configPath);
    const data = textOf(line, 'data');
    const folder = data === undefined ? folderOf(config, archive.config.toString('utf8')) : resolve(data);
    await put(archive, config, folder, line.values['force'] === true, file);
    const { airsplice, madeAt } = archive.manifest;
    const text = `${config} and the store in ${folder} are those of ${madeAt} (airsplice ${airsplice})`;
    process.stdout.write(`airsplice: ${printable(text)}\n`);
    return 0;
  } finally {
    closeSync(source);
  }
};

function open(source: number, file: string): OpenArchive {
  try {
    return readArchive(source);
  } catch (error) {
    throw new Error(`${file} cannot be restored: ${messageOf(error)}`, { cause: error });
  }
}

/** Where the configuration has its data. */
function folderOf(path: string, text: string): string {
  try {
    return loadConfig(path, process.env, text).data.folder;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new Error(
      `${error.message}\nThe configuration of the backup cannot be used here as it is: --data says where the store goes`,
    );
  }
}

async function put(
  archive: OpenArchive,
  config: string,
  folder: string,
  isForced: boolean,
  file: string,
): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = await lockFolder(folder).catch((error: Error) => {
    throw new Error(`${file} was not restored: ${error.message}`, { cause: error });
  });
  const store = join(folder, FILE);
  const fresh = { store: `${store}-restored`, config: `${config}.restored` };
  try {
    const isSame = existsSync(config) && readFileSync(config).equals(archive.config);
    const there = [store, ...(isSame ? [] : [config])].filter((path) => existsSync(path));
    if (there.length > 0 && !isForced)
      throw new Error(
        `${there.join(' and ')} ${there.length > 1 ? 'are' : 'is'} there already: --force replaces what is there`,
      );
    write(fresh.store, (target) => archive.writeStore(target));
    await checkStore(fresh.store);
    write(fresh.config, (target) => void writeSync(target, archive.config));
    likeReplaced(fresh.config, config);
    // The server that will open it is the folder's owner.
    ownedLike(fresh.store, folder);
    renameSync(fresh.store, store);
    rmSync(`${store}-lock`, { force: true });
    renameSync(fresh.config, config);
    for (const path of [folder, dirname(config)]) flushFolder(path);
  } catch (error) {
    throw new Error(`${file} was not restored: ${messageOf(error)}`, { cause: error });
  } finally {
    for (const path of Object.values(fresh)) rmSync(path, { force: true });
    await lock.release();
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
