/**
 * Speaking to a running server over the local socket in its data folder (processes/supervisor/control-socket.ts): a line with a command, and a line
 * of JSON with its answer.
 */

import net from 'node:net';
import { join } from 'node:path';

export const MAX_COMMAND_BYTES = 4096;
/** The plan of a thousand channels. */
const MAX_ANSWER_BYTES = 1_048_576;

/** What there is to say of what was done, or why it was not. */
export type ControlAnswer = { readonly done: string } | { readonly refused: string };

/** Of a server, for who may use its data folder. */
export function controlPath(dataFolder: string): string {
  return join(dataFolder, 'control.sock');
}

/** The server was asked, and has not done it. Its message says why. */
export class RefusedByServer extends Error {}

/** No server listens there. */
export class NoServerError extends Error {}

/**
 * Resolves with what the server says of what it did. Rejects with NoServerError or RefusedByServer.
 * @param command a name of control-socket.ts
 */
export async function control(dataFolder: string, command: string, stop: AbortSignal): Promise<string> {
  const answer = await converse(controlPath(dataFolder), command, stop);
  if (!answer.endsWith('\n')) throw new Error(`no answer to ${command}: the server has ended`);
  const { done, refused } = membersOf(answer);
  if (typeof done === 'string') return done;
  if (typeof refused === 'string') throw new RefusedByServer(refused);
  throw new Error(`${controlPath(dataFolder)} is answered by another program`);
}

/** Members of the answer, if it is JSON: any program may be listening there. */
function membersOf(answer: string): { readonly done?: unknown; readonly refused?: unknown } {
  try {
    return JSON.parse(answer) ?? {};
  } catch {
    return {};
  }
}

/** Resolves with all that it answers, until it ends. */
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
