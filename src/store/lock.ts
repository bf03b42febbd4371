/**
 * The exclusive right of one process to a folder; only users who may write to the folder can take it. It is a listening socket in the folder: a
 * process that listens is alive, so a restart after kill -9 works at once, and no stale process id has to be judged. Owned by the caller of
 * lockFolder.
 *
 * Every starter first listens under a fresh name, then asks all others. One that has the folder says so, and this starter gives way; one that does
 * not listen is dead, and its file is removed. Of two starters, the one whose name comes first waits until the other has given way or has the folder:
 * never do both hold it, and one of them does.
 */

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

export interface FolderLock {
  /** Releases the folder. Idempotent. */
  release(): Promise<void>;
}

/** The beginning of a lock file's name. */
const LOCK_FILE = 'lock-';
/** The longest path of a socket on macOS; Linux allows four more. */
const PATH_BYTES = 103;
/** A process that does not answer in this time counts as having the folder: it may be suspended, or its event loop blocked. */
const ANSWER_MS = 2000;
/** The pause between two questions to another starter. */
const AGAIN_MS = 20;
/** The longest answer. */
const MAX_CHARACTERS = 200;

/** Takes the folder (which must exist) for this process. Rejects when another one, or this one already, has it. */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const { dev, ino, uid, gid, mode } = await stat(folder, { bigint: true });
  if (process.platform === 'win32') return await lockByPipe(`\\\\.\\pipe\\airsplice-${dev}-${ino}`, folder);
  const sockets = await SocketFolder.open(folder);
  const name = LOCK_FILE + randomUUID().slice(0, 8);
  const starter = new Starter();
  try {
    await starter.listen(sockets.path(name));
    await beAsFolder(sockets.path(name), Number(uid), Number(gid), Number(mode));
    for (const other of await readdir(folder))
      if (other.startsWith(LOCK_FILE) && other !== name) await outlast(sockets.path(other), name < other, folder);
    // Between bind and listen this one looks dead to another starter, which then has removed its file.
    if (!existsSync(sockets.path(name))) throw inUse(folder, null);
    starter.hasFolder = true;
  } catch (error) {
    await starter.close();
    await sockets.close();
    throw error;
  }
  return { release: () => starter.close().then(() => sockets.close()) };
}

/** Gives the socket owner and mode of the folder: its users can ask, even if root, restoring a backup, has crashed. */
async function beAsFolder(path: string, uid: number, gid: number, mode: number): Promise<void> {
  try {
    if (process.getuid!() === 0) await chown(path, uid, gid);
    await chmod(path, mode & 0o777);
  } catch {
    // Then only this user can ask.
  }
}

/** Paths of sockets in a folder. On Linux a folder with a long path is reached by its descriptor. */
class SocketFolder {
  readonly #base: string;
  readonly #handle: FileHandle | null;

  private constructor(base: string, handle: FileHandle | null) {
    this.#base = base;
    this.#handle = handle;
  }

  static async open(folder: string): Promise<SocketFolder> {
    const longest = join(folder, `${LOCK_FILE}00000000`);
    if (Buffer.byteLength(longest) <= PATH_BYTES) return new SocketFolder(folder, null);
    if (process.platform !== 'linux') throw new Error(`The path of ${folder} is too long for a socket`);
    const handle = await open(folder);
    return new SocketFolder(`/proc/self/fd/${handle.fd}`, handle);
  }

  path(name: string): string {
    return join(this.#base, name);
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }
}

class Starter {
  hasFolder = false;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((socket) => {
      socket.on('error', () => undefined);
      // The other end may stay open, which must not hold up a release.
      socket.end(`${JSON.stringify({ pid: process.pid, hasFolder: this.hasFolder })}\n`, () => socket.destroy());
    });
    this.#server.unref();
  }

  listen(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      // exclusive: a cluster worker must not be given its sibling's socket.
      this.#server.listen({ path, exclusive: true }, resolve);
    });
  }

  /** Removes its file. Idempotent. */
  close(): Promise<void> {
    return new Promise((closed) => this.#server.close(() => closed()));
  }
}

/** Resolves when another starter is gone. Rejects when it has the folder, or may have it. @param isFirst this one waits for the other */
async function outlast(path: string, isFirst: boolean, folder: string): Promise<void> {
  const untilMs = performance.now() + ANSWER_MS;
  for (;;) {
    const other = await ask(path, untilMs - performance.now());
    if (other === null) return await rm(path, { force: true });
    const isStarting = other.hasFolder === false;
    if (other.hasFolder === true || (isStarting && !isFirst) || performance.now() >= untilMs)
      throw inUse(folder, other.pid);
    await wait(AGAIN_MS);
  }
}

/** The answer of another starter; null: not known. */
interface OtherStarter {
  readonly pid: number | null;
  readonly hasFolder: boolean | null;
}

const UNKNOWN: OtherStarter = { pid: null, hasFolder: null };

/** Null: nothing listens there. */
function ask(path: string, maxMs: number): Promise<OtherStarter | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(path).setEncoding('utf8');
    let text = '';
    socket.on('data', (piece) => {
      text += piece;
      if (text.length > MAX_CHARACTERS) socket.destroy();
    });
    socket.setTimeout(Math.max(1, maxMs), () => socket.destroy());
    socket.on('close', () => resolve(readAnswer(text)));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(null);
      // It is being released, or too many starters ask it.
      else if (error.code === 'ECONNRESET' || error.code === 'EPIPE' || error.code === 'EAGAIN') resolve(UNKNOWN);
      else reject(error);
    });
  });
}

function readAnswer(text: string): OtherStarter {
  try {
    const { pid, hasFolder } = JSON.parse(text) as Partial<Record<keyof OtherStarter, unknown>>;
    return {
      pid: Number.isInteger(pid) ? (pid as number) : null,
      hasFolder: typeof hasFolder === 'boolean' ? hasFolder : null,
    };
  } catch {
    return UNKNOWN;
  }
}

/** Windows: a named pipe is exclusive in itself. */
async function lockByPipe(pipe: string, folder: string): Promise<FolderLock> {
  const starter = new Starter();
  await starter.listen(pipe).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE' ? inUse(folder, null) : error;
  });
  return { release: () => starter.close() };
}

function inUse(folder: string, pid: number | null): Error {
  const who = pid === null ? '' : ` (process ${pid})`;
  return new Error(`The folder ${folder} is in use by another airsplice server${who}`);
}
