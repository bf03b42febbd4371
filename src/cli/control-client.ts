/**
 * Client of a running server's local socket in its data folder (processes/supervisor/control-socket.ts): a line with a command is answered by a line
 * of JSON.
 */

import net from 'node:net';
import { join } from 'node:path';

export const MAX_COMMAND_BYTES = 4096;
/** Enough for the reload plan of some hundred thousand changes. */
const MAX_ANSWER_BYTES = 67_108_864;

/** What was done, or why the command was refused. */
export type ControlAnswer = { readonly done: string } | { readonly refused: string };

/** The socket of a server, for users with access to its data folder. */
export function controlPath(dataFolder: string): string {
  return join(dataFolder, 'control.sock');
}

/** The server has refused the command, for the reason in the message. */
export class RefusedByServer extends Error {}

/** No server listens at the socket. */
export class NoServerError extends Error {}

/**
 * Sends a command; resolves with the server's text. Rejects with NoServerError or RefusedByServer.
 * @param command a line that the control socket understands
 */
export async function control(dataFolder: string, command: string, stop: AbortSignal): Promise<string> {
  const answer = await converse(controlPath(dataFolder), command, stop);
  if (!answer.endsWith('\n')) throw new Error(`no answer to ${command}: the server has stopped`);
  const { done, refused } = membersOf(answer);
  if (typeof done === 'string') return done;
  if (typeof refused === 'string') throw new RefusedByServer(refused);
  throw new Error(`another program answers at ${controlPath(dataFolder)}`);
}

/** Members of the answer, if it is JSON: any program may be listening. */
function membersOf(answer: string): { readonly done?: unknown; readonly refused?: unknown } {
  try {
    return JSON.parse(answer) ?? {};
  } catch {
    return {};
  }
}

/** Resolves with the whole answer when the connection ends. */
function converse(path: string, command: string, stop: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(path);
    let answer = '';
    let isConnected = false;
    socket.setEncoding('utf8').on('data', (text: string) => {
      if (answer.length < MAX_ANSWER_BYTES) answer += text;
    });
    socket.once('connect', () => {
      isConnected = true;
      socket.write(`${command}\n`);
    });
    socket.once('error', (error) => reject(isConnected ? error : new NoServerError(error.message, { cause: error })));
    socket.once('close', () => resolve(answer));
    stop.addEventListener('abort', () => socket.destroy(), { once: true });
  });
}
