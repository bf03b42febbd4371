/**
 * `airsplice backup FILE --config CONFIG`: writes a file with the present configuration and store, whether the server runs or not. A running server
 * makes the copy of its store (store/store-copy.ts); else the store is locked and copied here.
 *
 * Exit codes: 0 when the file is complete and on the disk; 1 if that failed; 2 for a wrong command line or configuration.
 */

import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { ownVersion } from '../../base/own-files.js';
import { checkStore, FILE } from '../../store/lmdb.js';
import { lockFolder } from '../../store/lock.js';
import { type RunCommand, textOf } from '../command.js';
import { control, NoServerError } from '../control-client.js';
import { dataFolder } from '../written-paths.js';
import { writeArchive } from './archive.js';

/** The default configuration, as written by `init`. */
export const CONFIG = 'airsplice.yaml';
const COPIED = /^airsplice-backup-[0-9a-f]{8}\.mdb$/;

export const backup: RunCommand = async (line, stop) => {
  const file = line.operands[0]!;
  const configPath = textOf(line, 'config') ?? CONFIG;
  const folder = dataFolder(configPath);
  if (folder === null) return 2;
  if (existsSync(file)) throw new Error(`${file} already exists`);
  const copy = await copyOf(folder, stop);
  const fresh = `${file}.part-${process.pid}`;
  try {
    await checkStore(copy);
    const target = openSync(fresh, 'wx', 0o600);
    try {
      const made = { airsplice: ownVersion(), madeAt: new Date().toISOString(), configPath: resolve(configPath) };
      const { files } = writeArchive(target, made, readFileSync(configPath), copy);
      fsyncSync(target);
      const bytes = Object.values(files).reduce((sum, each) => sum + each.bytes, 0);
      renameSync(fresh, file);
      process.stdout.write(
        `airsplice: ${file} contains ${configPath} and the store in ${folder} (${bytes} bytes), but no files that the configuration names, such as audio and certificates.\n`,
      );
    } finally {
      closeSync(target);
    }
  } finally {
    rmSync(copy, { force: true });
    rmSync(fresh, { force: true });
  }
  return 0;
};

/** @returns the path of a copy of the store, which the caller must remove */
async function copyOf(folder: string, stop: AbortSignal): Promise<string> {
  try {
    const name = await control(folder, 'backup', stop);
    if (!COPIED.test(name)) throw new Error("the server's answer is not the name of a copy");
    return join(folder, name);
  } catch (error) {
    if (!(error instanceof NoServerError)) throw error;
  }
  const store = join(folder, FILE);
  if (!existsSync(store)) throw new Error(`no store in ${folder}`);
  // Rejects if a server runs without answering.
  const lock = await lockFolder(folder);
  try {
    const copy = join(folder, `airsplice-backup-${String(process.pid).padStart(8, '0').slice(-8)}.mdb`);
    rmSync(copy, { force: true });
    copyFileSync(store, copy, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
    return copy;
  } finally {
    await lock.release();
  }
}
