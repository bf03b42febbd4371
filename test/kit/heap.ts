/** What the process's heap holds once its garbage is collected: read at any other moment, it shows that moment. */

import { queryObjects, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { settled } from './pause.js';

setFlagsFromString('--expose-gc');
/** Collects all garbage now. */
export const collect = runInNewContext('gc') as () => void;

export function heldBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

/** What buffers hold: a thread of V8's own lets their memory go a little after the collection. */
export function heldBufferBytes(): Promise<number> {
  const held = () => {
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  return settled(held, 10, 5000);
}

/** How many objects of a class, or of one that extends it, the heap still has. */
export function alive(kind: new (...args: never[]) => object): number {
  return queryObjects(kind, { format: 'count' }) as number;
}
