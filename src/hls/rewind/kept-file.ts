/**
 * Reads what this server has written to the data folder. Anything may lie there since: a folder, a link, a file of gigabytes, or a pipe, whose reader
 * would wait without end. Only a regular file is read, and only as much as was written.
 */

import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** Rejects where something else than a regular file is there. Balance with `close`. */
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

/** Rejects where there is more in it. @param most bytes */
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
