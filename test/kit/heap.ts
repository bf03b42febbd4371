/** What the process's heap holds once its garbage is collected: read at any other moment, it shows that moment. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
/** Collects all garbage now. */
export const collect = runInNewContext('gc') as () => void;

export function heldBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
