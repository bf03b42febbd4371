/**
 * `airsplice restart CONFIG`: replaces the processes of a running server that has workers by new ones, of the program that is now on the disk
 * (src/processes/README.md).
 *
 * Exit codes: 0 when the new processes serve, 1 if no such server runs or the restart has failed, 2 for a wrong command line or configuration.
 */

import type { RunCommand } from './command.js';
import { control, NoServerError } from './control-client.js';
import { dataFolder } from './written-paths.js';

export const restart: RunCommand = async ({ operands: [path = ''] }, stop) => {
  const folder = dataFolder(path);
  if (folder === null) return 2;
  await control(folder, 'restart', stop).catch((error: Error) => {
    if (!(error instanceof NoServerError)) throw error;
    throw new Error(`no server with workers is using ${folder} (${error.message})`, { cause: error });
  });
  process.stdout.write('airsplice: restarted; old processes keep serving their existing clients\n');
  return 0;
};
