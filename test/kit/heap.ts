/** What a process holds once its garbage is gone: a heap read between two collections tells of when it was read. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
export const collect = runInNewContext('gc') as () => void;

export function heldBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
