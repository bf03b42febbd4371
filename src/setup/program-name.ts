/** How this program was called, for the commands that it prints, so that a user can type them in the same place. Pure except for its defaults. */

import { basename, delimiter, dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../base/own-files.js';
import { printable } from '../base/printable.js';

/** The call of this program. */
export interface ProgramCall {
  /** `process.argv[1]`: absolute, with links not resolved. */
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** The folder of the package. */
  readonly root: string;
}

/** In words for a shell: `airsplice`, in a clone `npx airsplice`, else `node` with the relative path of the file. */
export function programName(call: Partial<ProgramCall> = {}): string {
  const { file, env, cwd, root } = { ...ownCall(), ...call };
  // npm runs scripts in the package's folder, and has the user's folder in INIT_CWD.
  const here = env['INIT_CWD'] || cwd;
  const isByNpm = env['npm_lifecycle_event'] !== undefined;
  if (isByNpm && (isWithin(file, join('node_modules', '.bin')) || isBelow(here, root))) return 'npx airsplice';
  if (basename(file) !== 'airsplice') return `node ${wordOf(relative(here, file) || file)}`;
  const isInPath = (env['PATH'] ?? '').split(delimiter).includes(dirname(file));
  // A bare name would be looked up in PATH.
  return isInPath ? 'airsplice' : wordOf(relative(here, file).replace(/^airsplice$/, `.${sep}airsplice`));
}

function ownCall(): ProgramCall {
  return {
    file: process.argv[1] ?? '',
    env: process.env,
    cwd: process.cwd(),
    root: fileURLToPath(packageFile('')),
  };
}

function isWithin(file: string, folder: string): boolean {
  return file.includes(`${sep}${folder}${sep}`);
}

function isBelow(folder: string, root: string): boolean {
  const way = relative(root, folder);
  return way !== '..' && !way.startsWith(`..${sep}`);
}

/** A text as one word of a shell. */
export function wordOf(text: string): string {
  const plain = printable(text);
  return /^[\w./@%+=:,-]+$/.test(plain) ? plain : `'${plain.replaceAll("'", "'\\''")}'`;
}
