/**
 * Gives new files the owner and mode of the files that they replace, so that the same users can read them: for example, so that a service can
 * read a file that root wrote.
 */

import { existsSync, fchmodSync, fchownSync, statSync } from 'node:fs';

/**
 * Gives a file the owner, group and mode of the one that it will replace, if there is one.
 * @param fresh descriptor of the file; its name could have been redirected meanwhile
 */
export function likeReplaced(fresh: number, replaced: string): void {
  if (!existsSync(replaced)) return;
  const { mode } = statSync(replaced);
  if (ownedLike(fresh, replaced)) fchmodSync(fresh, mode & 0o777);
}

/** Gives a file the owner and group of another. False: not permitted; its mode must then give the group no access. */
export function ownedLike(fresh: number, other: string): boolean {
  const { uid, gid } = statSync(other);
  try {
    fchownSync(fresh, uid, gid);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
    return false;
  }
}
