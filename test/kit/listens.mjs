// Preloaded into a server under test: reports on standard error as soon as it listens to SIGTERM.
import { writeSync } from 'node:fs';

process.on('newListener', (event) => {
  // The listener is added after this call.
  if (event === 'SIGTERM') queueMicrotask(() => writeSync(2, 'listens to SIGTERM\n'));
});
