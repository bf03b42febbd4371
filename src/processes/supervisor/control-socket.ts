/**
 * The local socket in the data folder by which commands of the command line speak to a running server (cli/control-client.ts has the protocol). A
 * connection is one command; what it does is a table, so that one more is one line. Owned by the run of the server.
 */

import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import net, { type Server } from 'node:net';
import { type ControlAnswer, controlPath, MAX_COMMAND_BYTES } from '../../cli/control-client.js';
import { listen } from '../listen.js';

/** By its name. Resolves with what there is to say; rejects with why not. */
export type ControlCommands = Readonly<Record<string, () => Promise<string>>>;

/** Only its own user, as the folder. */
const MODE = 0o600;
/** Connections at once. Each is for one command, which can take as long as a rolling restart. */
export const MAX_COMMANDS = 64;
/** How long a client may take to send its command, and again to read the answer and close. */
export const ASK_MS = 5000;

/** A client has the rights of the data folder. Resolves with what closes it; rejects where the path cannot be had. */
export async function openControlSocket(dataFolder: string, commands: ControlCommands): Promise<() => void> {
  const path = controlPath(dataFolder);
  const server: Server = net.createServer((socket) => {
    let asked = '';
    let deadline = setTimeout(() => socket.destroy(), ASK_MS).unref();
    socket.on('error', () => socket.destroy()).on('close', () => clearTimeout(deadline));
    const onData = (text: string): void => {
      asked += text;
      const end = asked.indexOf('\n');
      if (end < 0 && asked.length < MAX_COMMAND_BYTES) return;
      socket.off('data', onData);
      socket.resume();
      clearTimeout(deadline);
      void answer(commands, asked.slice(0, end)).then((said) => {
        if (socket.destroyed) return;
        deadline = setTimeout(() => socket.destroy(), ASK_MS).unref();
        socket.end(`${JSON.stringify(said)}\n`);
      });
    };
    socket.setEncoding('utf8').on('data', onData);
  });
  server.maxConnections = MAX_COMMANDS;
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  // The store's owner has the folder's lock: another server's socket cannot be here.
  rmSync(path, { force: true });
  await listen(server, path);
  chmodSync(path, MODE);
  server.unref();
  return () => {
    server.close();
    rmSync(path, { force: true });
  };
}

async function answer(commands: ControlCommands, name: string): Promise<ControlAnswer> {
  const refused = `there is no command "${name.slice(0, 64)}" at this server`;
  if (!Object.hasOwn(commands, name)) return { refused };
  try {
    return { done: await commands[name]!() };
  } catch (error) {
    return { refused: (error as Error).message };
  }
}
