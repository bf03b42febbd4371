/**
 * The store on disk: one LMDB file in a folder that this process alone may use (lock.ts). An entry per channel: JSON, with the
 * number of its format, so that a later version can tell what it reads.
 *
 * A save resolves when its transaction has been flushed to the disk. Saves of one turn of the event loop, and those that come while
 * another is being flushed, share a transaction and so its fate.
 */

import { spawn } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import type { ChannelState } from '../metadata/state.js';
import { type FolderLock, lockFolder } from './lock.js';
import type { Store } from './store.js';

const FILE = 'airsplice.mdb';
const FORMAT = 1;

/**
 * overlappingSync off: else a commit resolves before its flush, and what a kill -9 leaves is taken up again only where the system
 * tells a boot id. The flush was measured at less than 0.2 ms a save.
 * eventTurnBatching off: else lmdb 3.5.6 makes, beside ours, a promise that nobody holds, and a commit that fails (a full disk)
 * ends the process as an unhandled rejection. Saves still share transactions.
 */
const OPTIONS = { noSubdir: true, overlappingSync: false, eventTurnBatching: false, maxDbs: 4 };

/**
 * Below this much free space a save is refused before lmdb tries it: where the system refuses lmdb 3.5.6 a write, it puts a text of
 * up to 120 bytes into 100 (mdb.c, "Attempting to write page"), and a full disk would end the process. A transaction needs far less.
 */
const LEAST_FREE_BYTES = 8 * 1024 * 1024;

/**
 * Opens (or makes) the store in a folder, which is made with mode 0700 where it is missing.
 * Rejects when another process has the folder, and when the file is damaged or is not ours.
 */
export async function openLmdbStore(folder: string): Promise<Store> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = await lockFolder(folder);
  try {
    const file = join(folder, FILE);
    await check(file);
    return new LmdbStore(file, lock);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

class LmdbStore implements Store {
  readonly #root: RootDatabase;
  readonly #channels: Database<string, string>;
  readonly #folder: string;
  readonly #lock: FolderLock;
  #closing: Promise<void> | undefined;

  constructor(file: string, lock: FolderLock) {
    this.#root = open({ path: file, ...OPTIONS });
    this.#channels = this.#root.openDB({ name: 'channels', encoding: 'string' });
    this.#folder = dirname(file);
    this.#lock = lock;
  }

  /** Throws an Error that names the channel when what is stored cannot be read. */
  load(channel: string): ChannelState | undefined {
    const text = this.#channels.get(channel);
    return text === undefined ? undefined : parse(channel, text);
  }

  async save(channel: string, state: ChannelState): Promise<void> {
    // lmdb itself forbids it to its root database only; here it would throw later, where nothing can catch it.
    if (this.#closing !== undefined) throw new Error('The store is closed');
    const { bavail, bsize } = statfsSync(this.#folder);
    if (bavail * bsize < LEAST_FREE_BYTES) {
      throw new Error(`The state of channel ${channel} cannot be saved: the disk of ${this.#folder} is full`);
    }
    try {
      await this.#channels.put(channel, JSON.stringify({ format: FORMAT, state }));
    } catch (error) {
      // lmdb gives the reason in a promise of its own, which must not be left without a handler.
      const reason = (error as { commitError?: Promise<never> }).commitError;
      const cause = reason === undefined ? error : await reason.catch((rejected: unknown) => rejected);
      throw new Error(`The state of channel ${channel} cannot be saved: ${(cause as Error).message}`, { cause });
    }
  }

  close(): Promise<void> {
    // lmdb's close waits for the saves under way.
    this.#closing ??= this.#root.close().then(() => this.#lock.release());
    return this.#closing;
  }
}

function parse(channel: string, text: string): ChannelState {
  const unreadable = `The stored state of channel ${channel} cannot be read`;
  let stored: { format?: unknown; state?: ChannelState } | null;
  try {
    stored = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${unreadable}: it is not JSON`, { cause });
  }
  if (stored?.format !== FORMAT) {
    throw new Error(`${unreadable}: its format is ${stored?.format}, this version of airsplice reads format ${FORMAT}`);
  }
  if (typeof stored.state?.version !== 'number') throw new Error(`${unreadable}: it has no version`);
  return stored.state;
}

/** Opens the file as the store does and reads every entry of every database in it. Arguments: lmdb's URL, the path, the options. */
const WALK = `
const [, url, path, options] = process.argv;
const { open } = await import(url);
const root = open({ path, ...JSON.parse(options) });
for (const name of root.getKeys()) for (const entry of root.openDB({ name, encoding: 'binary' }).getRange()) entry.value;
await root.close();
`;

/** A truncated or damaged file kills the process that reads it by signal: let a child be that process. */
async function check(file: string): Promise<void> {
  const there = await stat(file).catch(() => null);
  if (there === null) return;
  const argv = ['--input-type=module', '-e', WALK, import.meta.resolve('lmdb'), file, JSON.stringify(OPTIONS)];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const ending = await new Promise<number | string | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(signal ?? code));
  });
  if (ending === 0) return;
  const reason = /^\w*Error: .*$/m.exec(complaint)?.[0] ?? `reading it ended with ${ending}`;
  throw new Error(`The store ${file} is damaged (${reason}): put a copy in its place, or move it away to start empty`);
}
