/** Listens at a local socket. */

import type { Server } from 'node:net';

/** The longest path that the system accepts, without the terminating zero. Node truncates a longer one and listens at another path. */
const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

/** Resolves when the server listens; rejects if the path is too long or cannot be used. */
export function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
      reject(new Error(`the path of a local socket may have at most ${MAX_PATH_BYTES} bytes: ${path} is too long`));
      return;
    }
    server.once('error', reject);
    server.listen(path, () => resolve());
  });
}
