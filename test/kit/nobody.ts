/** Runs programs that refuse to run as root: if the tests do, as the user `nobody`. That needs `setpriv` (util-linux). */

import { execFileSync } from 'node:child_process';

const NOBODY = 65_534;
export const isRoot = process.getuid?.() === 0;

/**
 * The prefix of such a program's command; empty unless the tests run as root. It clears NODE_OPTIONS, by which the test runner records each process
 * in a folder that the user cannot write to.
 */
export const asNobody: readonly string[] = isRoot
  ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', 'env', 'NODE_OPTIONS=']
  : [];

/** Makes the user the owner of these folders and their content. */
export function giveToNobody(...folders: readonly string[]): void {
  if (isRoot) execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, ...folders]);
}
