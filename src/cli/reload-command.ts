/**
 * `airsplice reload CONFIG`: a running server reloads its configuration (src/config/README.md, "Reload"); with `--restart` and workers also the
 * parts that need new processes.
 *
 * Exit codes: 0 when it is in force, 1 if no server runs, 2 if the configuration is wrong or the server has refused it.
 */

import { realpathSync } from 'node:fs';
import { printableLines } from '../base/printable.js';
import type { RunCommand } from './command.js';
import { control, NoServerError, RefusedByServer } from './control-client.js';
import { dataFolder } from './written-paths.js';

/** The control socket's command for `--restart`. */
export const RELOAD_BY_RESTART = 'reload-by-restart';
/** The control socket's command that asks which file a server reads. */
export const CONFIG_PATH = 'config-path';

export const reload: RunCommand = async ({ values, operands: [path = ''] }, stop) => {
  const said = await askAbout(path, values['restart'] === true ? RELOAD_BY_RESTART : 'reload', stop);
  if (said === null) return 2;
  process.stdout.write(`airsplice: reloaded\n${printableLines(said)}\n`);
  return 0;
};

/** Rejects with RefusedByServer if the server reads another file than `path`: it always reloads its own. */
async function checkIsIts(folder: string, path: string, stop: AbortSignal): Promise<void> {
  const own = await control(folder, CONFIG_PATH, stop).catch((error: unknown) => {
    // An older server does not know this command.
    if (error instanceof RefusedByServer) return null;
    throw error;
  });
  if (own === null || own === realpathSync(path)) return;
  throw new RefusedByServer(`the server using its data folder runs with ${own} and reloads no other file`);
}

/** Sends a command to the server of a configuration; null: refused, and reported. Rejects if no server runs. */
export async function askAbout(path: string, command: string, stop: AbortSignal): Promise<string | null> {
  const folder = dataFolder(path);
  try {
    if (folder === null) return null;
    await checkIsIts(folder, path, stop);
    return await control(folder, command, stop);
  } catch (error) {
    if (error instanceof NoServerError) throw new Error(`no server is using its data folder (${error.message})`);
    if (!(error instanceof RefusedByServer)) throw error;
    process.stderr.write(`airsplice: ${printableLines(error.message)}\n`);
    return null;
  }
}
