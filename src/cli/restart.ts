/**
 * `airsplice restart CONFIG`: replaces the processes of a running server that has workers, by the program as it is on the disk now
 * (src/processes/README.md). It speaks to the supervisor over a local socket in the data folder.
 *
 * Exit codes: 0 when the new processes serve, 1 where there is no such server or the restart has failed, 2 for a wrong command line.
 */

import net from 'node:net';
import { join, resolve } from 'node:path';
import { loadConfig } from '../config/load.js';

const USAGE = 'usage: airsplice restart CONFIG.yaml';
/** What is asked, and answered; else the answer is why not. */
export const ASK = 'restart\n';
export const DONE = 'done\n';
const MOST_ANSWER_BYTES = 4096;

/** Of the supervisor, for who may use the data folder. */
export function controlPath(dataFolder: string): string {
  return join(resolve(dataFolder), 'control.sock');
}

/** @param args behind the command's name @param stop ends it, not the restart @returns the exit code */
export async function restart(args: readonly string[], stop: AbortSignal): Promise<number> {
  const [path, ...more] = args;
  if (path === undefined || path.startsWith('-') || more.length > 0) {
    process.stderr.write(`${USAGE}\n`);
    return 2;
  }
  let folder: string;
  try {
    folder = loadConfig(path, process.env).data.folder;
  } catch (error) {
    process.stderr.write(`airsplice: ${(error as Error).message}\n`);
    return 2;
  }
  try {
    const answer = await ask(controlPath(folder), stop);
    if (answer === DONE) {
      process.stdout.write('airsplice: restarted; old processes still serve whom they have\n');
      return 0;
    }
    process.stderr.write(`airsplice: not restarted: ${answer.trim() || 'the server has ended'}\n`);
  } catch (error) {
    process.stderr.write(`airsplice: no server with workers runs on ${folder} (${(error as Error).message})\n`);
  }
  return 1;
}

/** Resolves with all that it answers, until it ends. Rejects where nobody is there. */
function ask(path: string, stop: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(path);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      if (answer.length < MOST_ANSWER_BYTES) answer += text;
    });
    socket.once('connect', () => socket.write(ASK));
    socket.once('error', reject).once('close', () => resolve(answer));
    stop.addEventListener('abort', () => socket.destroy(), { once: true });
  });
}
