/**
 * The exclusive right of one process to a folder. The system keeps it: it is gone with the process, however that died, so a
 * restart after kill -9 works at once and no stale process id has to be judged. Owned by the caller of lockFolder.
 *
 * The lock is a listening socket whose name is the folder's device and inode, so that path length, links and other spellings
 * of the path do not matter. (The name is seen within one network namespace: two containers that share a volume do not see it.)
 */

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

export interface FolderLock {
  /** Lets go. Idempotent. */
  release(): Promise<void>;
}

/** Takes the folder (which must exist) for this process. Rejects when another one, or this one already, has it. */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const { dev, ino } = await stat(folder, { bigint: true });
  const name = `airsplice-${dev}:${ino}`;
  // Listening on an abstract socket (Linux) or a named pipe (Windows) is exclusive in itself, and neither leaves a file behind.
  if (process.platform === 'linux') return await hold(`\0${name}`, folder);
  if (process.platform === 'win32') return await hold(`\\\\.\\pipe\\${name.replace(':', '-')}`, folder);
  return await lockFolderByFile(folder);
}

/** The beginning of a lock file's name. Short: macOS allows a socket's path 103 bytes. */
const LOCK_FILE = 'lock-';
const LOCK_PATH_BYTES = 103;

/**
 * The same for systems where a socket is a file that outlives its process (macOS). Every starter first listens under a fresh
 * name, then connects to all others: one that answers is alive, and this starter gives way; one that does not is dead, and its
 * file is removed. Of two starters at least one sees the other, so never do both hold (at worst neither does).
 */
export async function lockFolderByFile(folder: string): Promise<FolderLock> {
  const mine = LOCK_FILE + randomUUID().slice(0, 8);
  const path = join(folder, mine);
  if (Buffer.byteLength(path) > LOCK_PATH_BYTES) throw new Error(`The path of ${folder} is too long for a socket`);
  const lock = await hold(path, folder);
  try {
    for (const name of await readdir(folder)) {
      if (!name.startsWith(LOCK_FILE) || name === mine) continue;
      if (await answers(join(folder, name))) throw inUse(folder);
      await rm(join(folder, name), { force: true });
    }
    // Between its bind and its listen this one looked dead to another starter, which then is there.
    if (!existsSync(path)) throw inUse(folder);
    return lock;
  } catch (error) {
    await lock.release();
    throw error;
  }
}

function hold(path: string, folder: string): Promise<FolderLock> {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  return new Promise((resolve, reject) => {
    server.on('error', (error: NodeJS.ErrnoException) => reject(error.code === 'EADDRINUSE' ? inUse(folder) : error));
    // exclusive: a cluster worker must not be given its sibling's socket.
    server.listen({ path, exclusive: true }, () =>
      resolve({ release: () => new Promise((released) => server.close(() => released())) }),
    );
  });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      // It is being released, as another starter that gives way does.
      else if (error.code === 'ECONNRESET') resolve(true);
      else reject(error);
    });
  });
}

function inUse(folder: string): Error {
  return new Error(`The folder ${folder} is in use by another airsplice server`);
}
