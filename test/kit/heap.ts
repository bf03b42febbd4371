/** Measures the process's heap after a garbage collection; otherwise it would vary with the moment. */

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

/** Memory of buffers. Waits a little, since a thread of V8 frees it after the collection. */
export function heldBufferBytes(): Promise<number> {
  const held = () => {
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  return settled(held, 10, 5000);
}

/** Number of objects of a class and its subclasses in the heap. */
export function alive(kind: new (...args: never[]) => object): number {
  return queryObjects(kind, { format: 'count' }) as number;
}
