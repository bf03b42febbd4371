/**
 * The local socket in the data folder that takes commands from the command line (cli/control-client.ts has the protocol). Each connection carries one
 * command, which is looked up in a table. Owned by run.ts.
 */

import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import net, { type Server } from 'node:net';
import { type ControlAnswer, controlPath, MAX_COMMAND_BYTES } from '../../cli/control-client.js';
import { listen } from '../listen.js';

/** Commands by name. Each resolves with the text to print, or rejects with the reason. */
export type ControlCommands = Readonly<Record<string, () => Promise<string>>>;

/** Only the server's user may connect, as with the data folder. */
const MODE = 0o600;
/** Connections at once; a command can take as long as a rolling restart. */
export const MAX_COMMANDS = 64;
/** How long a client may take to send its command, and then to read the answer and close. */
export const ASK_MS = 5000;

/** Opens the socket. Resolves with a function that closes it; rejects if the path cannot be used. */
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
  // The store's lock on the folder rules out that another server's socket is here.
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
  const refused = `this server has no command "${name.slice(0, 64)}"`;
  if (!Object.hasOwn(commands, name)) return { refused };
  try {
    return { done: await commands[name]!() };
  } catch (error) {
    return { refused: (error as Error).message };
  }
}
