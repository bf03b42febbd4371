/**
 * Files that take the place of others: who could read the old one, and nobody else, can read the new one. A service reads what root
 * has written for it.
 */

import { existsSync, fchmodSync, fchownSync, statSync } from 'node:fs';

/**
 * Gives a file the owner, group and mode of the one that it will replace; without one it stays its maker's.
 * @param fresh descriptor of the file, not yet in its place: its name may lead elsewhere by now
 */
export function likeReplaced(fresh: number, replaced: string): void {
  if (!existsSync(replaced)) return;
  const { mode } = statSync(replaced);
  if (ownedLike(fresh, replaced)) fchmodSync(fresh, mode & 0o777);
}

/** @returns whether it could be given away; a mode for another group would show it to strangers */
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
