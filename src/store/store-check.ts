/**
 * Whether a store can be used, found out before lmdb opens it in this process: a truncated or damaged file kills its reader by
 * signal, so a short-lived child walks through it first, and its death becomes the text of an error. Called by lmdb.ts.
 */

import { spawn } from 'node:child_process';
import { access, constants, stat } from 'node:fs/promises';
import { checkPages } from './pages.js';

/** Before lmdb tries: a file that may only be read would look like a damaged one. A file that is missing will be made. */
export async function mustBeWritable(folder: string, file: string): Promise<void> {
  const { R_OK, W_OK, X_OK } = constants;
  for (const [path, mode] of [[folder, R_OK | W_OK | X_OK] as const, [file, R_OK | W_OK] as const]) {
    await access(path, mode).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return;
      throw new Error(`The store cannot be used: ${path} cannot be read and written (${cause.code})`, { cause });
    });
  }
}

/**
 * Opens the file as the store does and reads every entry of every database in it, forth and back. A damaged page may be read
 * without an error, so the entries must be as many as the file says, and their keys in order. Arguments: lmdb's URL, the path, the options.
 */
const WALK = `
const [, url, path, options] = process.argv;
const { open, compareKeys } = await import(url);
const root = open({ path, ...JSON.parse(options), encoding: 'binary' });
const walk = (database) => {
  const { entryCount } = database.getStats();
  for (const reverse of [false, true]) {
    let count = 0;
    let last;
    for (const { key, value } of database.getRange({ reverse })) {
      const isInOrder = count++ === 0 || compareKeys(last, key) * (reverse ? -1 : 1) < 0;
      if (value === undefined || !isInOrder) throw new Error('its keys are in disorder');
      last = key;
    }
    if (count !== entryCount) throw new Error('it has ' + count + ' of ' + entryCount + ' entries');
  }
};
walk(root);
for (const name of root.getKeys()) walk(root.openDB({ name, encoding: 'binary' }));
await root.close();
`;

/** Rejects if the file, which must exist, is damaged or empty. @param options those of lmdb's `open` @param signal aborts the check */
export async function checkFile(file: string, options: object, signal?: AbortSignal): Promise<void> {
  if ((await stat(file)).size === 0) {
    throw new Error(`The store ${file} is empty, cut to 0 bytes: restore a copy, or remove it to start empty`);
  }
  const argv = ['--input-type=module', '-e', WALK, import.meta.resolve('lmdb'), file, JSON.stringify(options)];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'ignore', 'pipe'], killSignal: 'SIGKILL', signal });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const ending = await new Promise<number | string | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(signal ?? code));
  });
  const reason =
    ending === 0
      ? pagesFault(file)
      : (/^\w*Error: (.*)$/m.exec(complaint)?.[1] ?? `the process that read it ended with ${ending}`);
  if (reason === null) return;
  throw new Error(`The store ${file} is damaged (${reason}): restore a copy, or move it away to start empty`);
}

/** Null: none. */
function pagesFault(file: string): string | null {
  try {
    checkPages(file);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
