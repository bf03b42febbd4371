/** What the process's heap holds once its garbage is collected: read at any other moment, it shows that moment. */

import { queryObjects, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
/** Collects all garbage now. */
export const collect = runInNewContext('gc') as () => void;

export function heldBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

/** How many objects of a class, or of one that extends it, the heap still has. */
export function alive(kind: new (...args: never[]) => object): number {
  return queryObjects(kind, { format: 'count' }) as number;
}
