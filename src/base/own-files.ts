/** Finds files of this package at run time: beside the code, in src or dist, and in the package's root. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const HERE = fileURLToPath(import.meta.url);
const ROOT = rootAbove(HERE);
/** The folder of the running code: src or dist. */
const CODE = join(ROOT, relative(ROOT, HERE).split(sep)[0]!);

/** @param path below the package's root, such as `config/demo.yaml` */
export function packageFile(path: string): URL {
  return pathToFileURL(join(ROOT, path));
}

/** @param path below the folder of the running code; a trailing slash means a folder */
export function codeFile(path: string): URL {
  return pathToFileURL(join(CODE, path));
}

/** The version of airsplice, from package.json. */
export function ownVersion(): string {
  return JSON.parse(readFileSync(packageFile('package.json'), 'utf8')).version;
}

function rootAbove(file: string): string {
  let folder = dirname(file);
  while (!existsSync(join(folder, 'package.json'))) {
    const above = dirname(folder);
    if (above === folder) throw new Error(`no package.json found above ${file}: the installation is broken`);
    folder = above;
  }
  return folder;
}
