/** Loaded before the server: at SIGWINCH it collects all garbage and reports on standard error how many bytes are still held. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

process.on('SIGWINCH', () => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`held ${heapUsed + external} bytes\n`);
});
