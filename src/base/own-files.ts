/** Files of this package that are read while it runs: beside the code, wherever the build has put that, and in the package's root. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const HERE = fileURLToPath(import.meta.url);
const ROOT = rootAbove(HERE);
/** src, or dist. */
const CODE = join(ROOT, relative(ROOT, HERE).split(sep)[0]!);

/** @param path in the package's root, such as `config/demo.yaml` */
export function packageFile(path: string): URL {
  return pathToFileURL(join(ROOT, path));
}

/** @param path in src or dist, of which it is the one that runs; with a slash at its end a folder */
export function codeFile(path: string): URL {
  return pathToFileURL(join(CODE, path));
}

/** The version of airsplice, as package.json says it. */
export function ownVersion(): string {
  return JSON.parse(readFileSync(packageFile('package.json'), 'utf8')).version;
}

function rootAbove(file: string): string {
  let folder = dirname(file);
  while (!existsSync(join(folder, 'package.json'))) {
    const above = dirname(folder);
    if (above === folder) throw new Error(`no package.json stands above ${file}: the installation is broken`);
    folder = above;
  }
  return folder;
}
