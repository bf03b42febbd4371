/**
 * Reads files that this server has written to the data folder. Anything may have replaced them since: a folder, a link, a file of gigabytes, or a
 * pipe, which would block its reader forever. Only a regular file is read, and no more than was written.
 */

import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** Opens a file; rejects if it is not a regular file. Balance with `close`. */
export async function openKept(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const isFile = await file.stat().then(
    (stats) => stats.isFile(),
    () => false,
  );
  if (isFile) return file;
  await file.close();
  throw new Error(`${path} is not a file`);
}

/** Reads a file; rejects if it is larger than `most` bytes. */
export async function readKept(path: string, most: number): Promise<Buffer> {
  const file = await openKept(path);
  try {
    const { size } = await file.stat();
    if (size > most) throw new Error(`${path} has ${size} bytes, and at most ${most} were written`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}
