/** Local sockets, by path. */

import type { Server } from 'node:net';

/** Resolves when it listens; rejects where the path cannot be had. */
export function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => resolve());
  });
}
