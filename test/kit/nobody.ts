/** Programs that refuse to run as root: where the tests do, they are started as the user `nobody`. Needs `setpriv` (util-linux) there. */

import { execFileSync } from 'node:child_process';

const NOBODY = 65_534;
export const isRoot = process.getuid?.() === 0;

/**
 * What stands before such a program's command: nothing, unless the tests run as root. The test runner has Node write down each process in its own
 * folder, where nobody may not write.
 */
export const asNobody: readonly string[] = isRoot
  ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', 'env', 'NODE_OPTIONS=']
  : [];

/** Gives such a program its folders, with all that is in them. */
export function giveToNobody(...folders: readonly string[]): void {
  if (isRoot) execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, ...folders]);
}
