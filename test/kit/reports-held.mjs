/** Preloaded into a server: at SIGWINCH it collects all garbage and reports on standard error the number of bytes still held. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

process.on('SIGWINCH', () => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`held ${heapUsed + external} bytes\n`);
});
