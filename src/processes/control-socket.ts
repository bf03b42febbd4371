/** The local socket in the data folder by which `airsplice restart` (cli/restart.ts) speaks to the supervisor. Owned by the supervisor's run. */

import { mkdirSync, rmSync } from 'node:fs';
import net, { type Server } from 'node:net';
import { ASK, controlPath, DONE } from '../cli/restart.js';
import { listen } from './listen.js';

export interface ControlSocketParts {
  readonly dataFolder: string;
  /** Rejects with why not. */
  restart(): Promise<void>;
}

/** A client has the rights of the data folder. Resolves with what closes it; rejects where the path cannot be had. */
export async function openControlSocket({ dataFolder, restart }: ControlSocketParts): Promise<() => void> {
  const path = controlPath(dataFolder);
  const server: Server = net.createServer((socket) => {
    let asked = '';
    socket.on('error', () => socket.destroy());
    socket.setEncoding('utf8').on('data', (text: string) => {
      asked += text;
      if (asked === ASK) {
        restart().then(
          () => socket.end(DONE),
          (error: Error) => socket.end(`${error.message}\n`),
        );
      } else if (!ASK.startsWith(asked)) socket.destroy();
    });
  });
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  // The hub has the folder's lock: another server's socket cannot be here.
  rmSync(path, { force: true });
  await listen(server, path);
  server.unref();
  return () => {
    server.close();
    rmSync(path, { force: true });
  };
}
