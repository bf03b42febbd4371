/** Local sockets, by path. */

import type { Server } from 'node:net';

/** What a system takes, without the byte that ends it. Node cuts off what is more, and listens at another path. */
const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

/** Resolves when it listens; rejects where the path cannot be had. */
export function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
      reject(new Error(`the path of a local socket can have ${MAX_PATH_BYTES} bytes: ${path} is too long`));
      return;
    }
    server.once('error', reject);
    server.listen(path, () => resolve());
  });
}
