/**
 * `airsplice reload CONFIG`: a running server puts its configuration in force as the file is now (src/config/README.md, "Reload"); with `--restart`
 * also what only new processes can have, where it has workers.
 *
 * Exit codes: 0 when it is in force, 1 where there is no such server, 2 where the configuration is wrong or the server has refused it.
 */

import { printableLines } from '../base/printable.js';
import { ConfigError, loadConfig } from '../config/load.js';
import type { RunCommand } from './command.js';
import { control, NoServerError, RefusedByServer } from './control.js';

/** As the server knows it: what only new processes can change is changed too, with workers. */
export const RELOAD_BY_RESTART = 'reload-by-restart';

export const reload: RunCommand = async ({ values, operands: [path = ''] }, stop) => {
  const said = await askAbout(path, values['restart'] === true ? RELOAD_BY_RESTART : 'reload', stop);
  if (said === null) return 2;
  process.stdout.write(`airsplice: reloaded\n${printableLines(said)}\n`);
  return 0;
};

/** What the server of this configuration answers to a command; null: why there is none was written. @throws Error where no server runs */
export async function askAbout(path: string, command: string, stop: AbortSignal): Promise<string | null> {
  try {
    return await control(loadConfig(path, process.env).data.folder, command, stop);
  } catch (error) {
    if (error instanceof NoServerError) throw new Error(`no server runs on its data folder (${error.message})`);
    if (!(error instanceof ConfigError || error instanceof RefusedByServer)) throw error;
    process.stderr.write(`airsplice: ${printableLines(error.message)}\n`);
    return null;
  }
}
