/**
 * `airsplice restart CONFIG`: replaces the processes of a running server that has workers, by the program as it is on the disk now
 * (src/processes/README.md). It speaks to the supervisor over a local socket in the data folder.
 *
 * Exit codes: 0 when the new processes serve, 1 where there is no such server or the restart has failed, 2 for a wrong command line.
 */

import { ConfigError, loadConfig } from '../config/load.js';
import type { RunCommand } from './command.js';
import { control, NoServerError } from './control.js';

export const restart: RunCommand = async ({ operands: [path = ''] }, stop) => {
  let folder: string;
  try {
    folder = loadConfig(path, process.env).data.folder;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`airsplice: ${error.message}\n`);
    return 2;
  }
  await control(folder, 'restart', stop).catch((error: Error) => {
    if (!(error instanceof NoServerError)) throw error;
    throw new Error(`no server with workers runs on ${folder} (${error.message})`, { cause: error });
  });
  process.stdout.write('airsplice: restarted; old processes still serve whom they have\n');
  return 0;
};
