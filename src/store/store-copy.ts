/**
 * A copy of the store beside it, in the data folder, while the store is in use: the command that asked for it takes it from there
 * (cli/backup/backup-command.ts). It has all that was saved before the request. Old copies that commands have left behind are removed first.
 */

import { randomUUID } from 'node:crypto';
import { chmod, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';

const COPY = /^airsplice-backup-[0-9a-f]{8}\.mdb(-lock)?$/;
const LEFT_MS = 3_600_000;
/** lmdb 3.5.6 does not survive every write that the system refuses (disk.ts). */
const SPARE_BYTES = 16 * 1024 * 1024;

/** @param copy writes a consistent copy to a path that is free @returns the copy's name in the folder. Rejects if the disk has no room */
export async function copyBeside(folder: string, file: string, copy: (path: string) => Promise<void>): Promise<string> {
  for (const name of await readdir(folder)) {
    if (!COPY.test(name)) continue;
    const found = await stat(join(folder, name)).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > LEFT_MS) await rm(join(folder, name), { force: true });
  }
  const [{ size }, { bavail, bsize }] = await Promise.all([stat(file), statfs(folder)]);
  if (bavail * bsize < size + SPARE_BYTES) throw new Error(`no space for a copy of the store on the disk of ${folder}`);
  const name = `airsplice-backup-${randomUUID().slice(0, 8)}.mdb`;
  const path = join(folder, name);
  try {
    await copy(path);
    await chmod(path, 0o600);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
  return name;
}
